"""Training of the local reader: conversations written for it, their labels, and the program that learns from them."""
