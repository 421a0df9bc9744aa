"""Units of work on the tables, one module per table or aggregate."""
