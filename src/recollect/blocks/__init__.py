"""Memory blocks: core and archival documents, replaced whole, by compare-and-set."""
