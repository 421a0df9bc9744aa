"""Other memory stores, each a program of its own that fills itself with the same facts and answers with JSON.

A peer is run with the Python of its own environment, `benchmarks/peers/.venv/NAME`; its first lines tell what to
install there. They import nothing of Recollect.
"""
