"""The module behind `python -m longmind.cli`, which equals `longmind`."""

from longmind.cli import main

main()
