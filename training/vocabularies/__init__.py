"""The tables that tokens are counted with, written from the published vocabularies."""
