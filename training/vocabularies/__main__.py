"""The program that writes the tables of tokens: `python -m training.vocabularies o200k_base.tiktoken …`.

It reads the files that OpenAI publishes beside tiktoken: a line for each token, with its bytes in base64 and its rank.
"""

from __future__ import annotations

import argparse
import base64
import zlib
from pathlib import Path

from longmind.assembly.byte_pairs import FOLDER


def read_tokens(path: Path) -> list[bytes]:
    """Return the tokens of a published vocabulary in the order of their ranks."""
    ranks = {}
    for line in path.read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    tokens = sorted(ranks, key=ranks.__getitem__)
    if [ranks[token] for token in tokens] != list(range(len(tokens))):
        raise SystemExit(f"{path}: the ranks are not the numbers from 0.")
    return tokens


def pack_tokens(tokens: list[bytes]) -> bytes:
    """Return the packed table: the length of each token in a byte, then all tokens."""
    return zlib.compress(bytes(map(len, tokens)) + b"".join(tokens), 9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vocabulary", nargs="+", type=Path)
    for path in parser.parse_args().vocabulary:
        tokens = read_tokens(path)
        target = FOLDER / f"{path.stem}.tokens"
        target.write_bytes(pack_tokens(tokens))
        print(f"{target}: {len(tokens):,} tokens, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
