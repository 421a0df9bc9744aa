"""How well recall finds what it should, measured on conversations with known answers."""
