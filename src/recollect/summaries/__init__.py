"""How many messages become a few sentences."""
