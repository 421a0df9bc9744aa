"""Work on whole tables: export, import, copy, erasure and byte scans."""
