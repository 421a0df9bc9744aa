"""The local reader: what is worth remembering, decided by a small network that was trained for it."""
