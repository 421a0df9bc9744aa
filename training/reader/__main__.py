"""Train the reader, and write its weights into the package: `python -m training.reader`.

It needs torch, the local model (`longmind models pull`) and the real conversations beside the repository; it takes
about three minutes on two cores, and gives the same weights each time on one kind of machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import longmind.extraction.reader
from longmind.extraction.reader.network import WEIGHTS, pack_weights
from longmind.providers.local.text_encoder import TextEncoder
from longmind.providers.model_files import MODELS
from longmind.settings import load_settings
from training.reader.conversations import is_for_testing, read_labelled_messages
from training.reader.examples import make_examples
from training.reader.learning import train
from training.reader.plain_statements import make_plain_messages


def main() -> int:
    encoder = TextEncoder(MODELS["arctic-s"], Path(load_settings({}).models_folder))
    messages = [each for each in read_labelled_messages() if not is_for_testing(each)] + make_plain_messages()
    examples = make_examples(encoder, messages)
    print(f"{len(messages)} messages, {len(examples)} pieces, {sum(len(each.spans) for each in examples)} facts")
    network = train(examples)
    path = Path(longmind.extraction.reader.__file__).parent / WEIGHTS
    path.write_bytes(pack_weights(network.export()))
    print(f"{path.name}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
