"""How memory becomes a part of a prompt: made harmless, counted, cut to a budget and laid out."""
