"""Other memory stores, each a program of its own that fills itself with the same facts and answers with JSON.

A peer is run with the Python of its own environment, `benchmarks/peers/.venv/NAME`; its first lines say what to
install there. They import nothing of Longmind. To make one, and to measure with it:

    python3 -m venv benchmarks/peers/.venv/chroma
    benchmarks/peers/.venv/chroma/bin/pip install chromadb numpy
    ./dev bench recall

What has no environment is skipped, and the benchmark says so. `--peers FOLDER` looks for environments elsewhere.
A peer tells the versions it was measured with, which sizes it was too slow to be filled with, and what it does
differently.
"""
