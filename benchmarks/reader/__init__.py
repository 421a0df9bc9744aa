"""The quality of the reader: what it remembers of labelled conversations."""
