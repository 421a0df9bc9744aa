"""The server: the operations over HTTP, and who may ask for them."""
