"""Weights that Longmind makes itself: the programs that make them, each run once by a developer."""
