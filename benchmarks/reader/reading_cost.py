"""The cost of reading: speed without the encoder, passes of the encoder for a message, and growth with its length.

It runs in a process of its own, with one core and one thread, so that the figures are those of one core.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import longmind
from benchmarks.beside_commit import ROOT
from benchmarks.reader.labelled_sets import label_user
from benchmarks.reader.labelled_users import NAMESPACE, parse_time
from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.extraction.reader.local_reader import LocalReader
from longmind.extraction.rules import RulesExtractor
from longmind.providers.local.embedder import LocalEmbedder
from longmind.providers.local.text_encoder import EncodedText, TextEncoder
from longmind.providers.model_files import MODELS
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.recall.message_pieces import split_message
from training.reader.conversations import TEST_GROUPS, read_users

SIZES = (10_000, 100_000, 1_000_000)
_ROUNDS = 3
_SAID_AT = to_micros("2026-03-02T09:00:00Z")
_FIRST_DAY = date(2026, 3, 3)
_MOST_CACHED = 300
"""Pieces of a conversation that the encoder surely keeps the results of."""
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class CountingEncoder(TextEncoder):
    """A text encoder that lists the texts of its passes, and the seconds of the processor that they took."""

    def __init__(self, folder: Path) -> None:
        super().__init__(MODELS[DEFAULT_MODEL], folder)
        self.read: list[str] = []
        self.seconds = 0.0

    def encode(self, text: str) -> EncodedText:
        """Return what the model computes from a text, and note it if it is computed now."""
        passes, began = self.passes, time.process_time()
        encoded = super().encode(text)
        if self.passes > passes:
            self.read.append(text)
            self.seconds += time.process_time() - began
        return encoded


def measure_cost(models: Path, sizes: Sequence[int]) -> dict[str, Any]:
    """Measure everything in a process of its own and return the results."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "cost.json")
        command = [sys.executable, "-m", "benchmarks.reader.reading_cost", str(models), str(output)]
        environment = {**os.environ, **_THREADS}
        subprocess.run([*command, "--sizes", *map(str, sizes)], cwd=ROOT, env=environment, check=True)
        results: dict[str, Any] = json.loads(output.read_text("utf-8"))
        return results


def measure_speed(users: Sequence[dict[str, Any]], encoder: CountingEncoder) -> dict[str, Any]:
    """Return the messages per second that are read when the encoder's results are there: the best of a few rounds."""
    reader = LocalReader(encoder, RulesExtractor())
    messages = read = 0
    taken = 0.0
    for user in users:
        for conversation in user["conversations"]:
            talk = to_source_messages(conversation)
            if _count_pieces(talk) > _MOST_CACHED:
                continue
            reader.extract(talk, "v1")
            passes = encoder.passes
            taken += min(_time(partial(reader.extract, talk, "v1")) for _ in range(_ROUNDS))
            if encoder.passes != passes:
                raise RuntimeError("The encoder computed something anew, so its time would be counted.")
            messages += len(talk)
            read += sum(message.role == "user" for message in talk)
    return {
        "messages": messages,
        "messages per second": round(messages / taken),
        "messages of users per second": round(read / taken),
        "milliseconds per message of a user": round(1000 * taken / read, 2),
        "milliseconds of a pass of the encoder": round(1000 * encoder.seconds / max(1, encoder.passes), 2),
    }


def _count_pieces(talk: Sequence[SourceMessage]) -> int:
    return sum(len(split_message(message.text)) for message in talk)


def _time(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def to_source_messages(conversation: dict[str, Any]) -> list[SourceMessage]:
    """Return the messages of a labelled conversation as an extractor reads them."""
    said_at = to_micros(parse_time(conversation["at"]))
    return [
        SourceMessage(f"msg{number}", message["role"], message["text"], said_at)
        for number, message in enumerate(conversation["messages"])
    ]


def count_passes(users: Sequence[dict[str, Any]], models: Path) -> dict[str, Any]:
    """Return the passes of the encoder while messages are appended, made findable and read.

    The passes over pieces of messages serve their passages and the reader; the others are for the vectors of atoms.
    """
    counts: Counter[str] = Counter()
    for user in users:
        embedder = LocalEmbedder(MODELS[DEFAULT_MODEL], models)
        embedder.encoder = encoder = CountingEncoder(models)
        with longmind.open("sqlite:///:memory:", embedder=embedder) as engine:
            counts.update(_count_user(engine, encoder, user))
    return {
        **counts,
        "passes for a message": round(
            (counts["passes over pieces, appended"] + counts["passes over pieces, read"]) / counts["messages"], 3
        ),
        "passes for an atom": round(counts["passes over atoms"] / max(1, counts["atoms"]), 3),
    }


def _count_user(engine: Any, encoder: CountingEncoder, user: dict[str, Any]) -> Counter[str]:
    context = engine.context(tenant_id="bench", app_id="passes", user_id=user["user"])
    space = context.memory.create_memory_space("memory")
    context.memory.create_binding({"namespace": NAMESPACE, "userId": user["user"]}, [space.id])
    counts: Counter[str] = Counter()
    pieces: set[str] = set()
    for conversation in user["conversations"]:
        begun = len(encoder.read)
        started = context.conversations.create_conversation(NAMESPACE)
        for message in conversation["messages"]:
            is_user = message["role"] == "user"
            conversations = context.conversations
            append = conversations.append_user_message if is_user else conversations.append_assistant_turn
            append(started.id, message["text"])
            pieces |= {message["text"][begins:ends] for begins, ends in split_message(message["text"])}
        engine.work()
        appended = len(encoder.read)
        context.conversations.close_conversation(started.id)
        engine.work()
        counts["messages"] += len(conversation["messages"])
        counts["passes over pieces, appended"] += sum(text in pieces for text in encoder.read[begun:appended])
        counts["passes over pieces, read"] += sum(text in pieces for text in encoder.read[appended:])
        counts["passes over atoms"] += sum(text not in pieces for text in encoder.read[begun:])
    counts["pieces"] = len(pieces)
    counts["pieces with more than one pass"] = sum(
        number > 1 for text, number in Counter(encoder.read).items() if text in pieces
    )
    counts["atoms"] = len(context.memory.list_atoms(space.id, status=None, limit=1000))
    return counts


def measure_growth(sizes: Sequence[int], encoder: CountingEncoder) -> dict[str, Any]:
    """Return the seconds of the processor that one message takes by its length, without the passes of the encoder."""
    reader = LocalReader(encoder, RulesExtractor())
    # What is loaded at the first use belongs to no size.
    reader.extract([SourceMessage("first", "user", make_long_text(500), _SAID_AT)], "v1")
    rows = []
    for size in sizes:
        message = SourceMessage("msg", "user", make_long_text(size), _SAID_AT)
        encoded = encoder.seconds
        found = 0

        def read(message: SourceMessage = message) -> None:
            nonlocal found
            found = len(reader.extract([message], "v1").candidates)

        seconds = _time(read)
        encoded = encoder.seconds - encoded
        rows.append(
            {
                "characters": size,
                "candidates": found,
                "seconds with the encoder": round(seconds, 2),
                "milliseconds per kB": round(1000 * (seconds - encoded) / (size / 1000), 3),
            }
        )
    shortest, longest = (row["milliseconds per kB"] for row in (rows[0], rows[-1]))
    return {"sizes": rows, "ratio": round(longest / shortest, 2)}


def make_long_text(size: int) -> str:
    """Return sentences in which no name, number or date occurs twice, except by chance."""
    chance = random.Random(7)
    parts: list[str] = []
    length = 0
    while length < size:
        day = _FIRST_DAY + timedelta(days=len(parts) % 20_000)
        parts.append(
            f"My friend {_invent_name(chance)} {_invent_name(chance)} lives in {_invent_name(chance)}. "
            f"I paid {chance.randrange(10**9)} dollars for the {_invent_name(chance).lower()}. "
            f"My appointment with Dr. {_invent_name(chance)} is on {day:%d %B %Y} at {chance.randrange(8, 18)}:30. "
        )
        length += len(parts[-1])
    return "".join(parts)[:size]


def _invent_name(chance: random.Random) -> str:
    return "".join(chance.choice("bcdfglmnprst") + chance.choice("aeiou") for _ in range(4)).capitalize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, help="the folder of the local model")
    parser.add_argument("output", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    users = [label_user(user, {}) for user in read_users() if user.writer in TEST_GROUPS]
    results = {
        "speed": measure_speed(users, CountingEncoder(options.models)),
        "passes": count_passes(users[:4], options.models),
        "growth": measure_growth(options.sizes, CountingEncoder(options.models)),
    }
    options.output.write_text(json.dumps(results), "utf-8")


if __name__ == "__main__":
    main()
