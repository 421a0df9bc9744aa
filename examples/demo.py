"""The demonstration behind `./dev demo`, the same as `longmind demo`: a memory at work, from first word to erasure.

It needs no key, no network and no server. It works in a temporary SQLite file and removes it; with --url it works in
the database you name, under a tenant of its own, and erases what it wrote.
"""

from __future__ import annotations

import sys

from longmind.cli import main

if __name__ == "__main__":
    main(["demo", *sys.argv[1:]])
