"""Decides what a candidate means for the facts already known: add, reinforce, supersede or skip."""
