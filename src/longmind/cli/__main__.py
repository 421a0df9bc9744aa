"""`python -m longmind.cli` is the same as `longmind`."""

from longmind.cli import main

main()
