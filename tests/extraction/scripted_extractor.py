"""An extractor for tests: each sentence is a fact, and "My home is Oslo." fills a slot."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from longmind.extraction.candidate import Candidate, Cost, Extracted, Mention, Slot, SourceMessage

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_SLOT = re.compile(r"my (?P<attribute>\w+) is (?P<value>[^.]+)\.", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)\b(?P<name>[A-Z][a-z]+)\b")


class SentenceExtractor:
    """Returns each sentence as a fact and records its calls; a version other than v1 is put before the text."""

    name = "sentences"

    def __init__(self) -> None:
        self.asked: list[tuple[list[SourceMessage], str]] = []
        self.before: Callable[[], object] | None = None
        """A function to call during each extraction, to simulate other work at the same time."""

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        self.asked.append((list(messages), version))
        if self.before is not None:
            self.before()
        found = [
            self.candidate(message, sentence.strip(), version)
            for message in messages
            if not message.read_only
            for sentence in _SENTENCE.findall(message.text)
            if sentence.strip()
        ]
        return Extracted(found, Cost(input_tokens=len(messages), output_tokens=len(found)))

    def candidate(self, message: SourceMessage, sentence: str, version: str) -> Candidate:
        slot = _SLOT.fullmatch(sentence)
        return Candidate(
            text=sentence if version == "v1" else f"({version}) {sentence}",
            category_name="said",
            kind="FACT",
            trust=message.role,
            source_message_ids=(message.id,),
            confidence=0.8,
            mentions=tuple(Mention(match["name"], "PERSON") for match in _NAME.finditer(sentence)),
            slot=Slot("user", slot["attribute"].lower(), slot["value"].lower()) if slot else None,
        )

    @property
    def read(self) -> list[list[str]]:
        """The texts of the new messages of each call."""
        return [[message.text for message in messages if not message.read_only] for messages, _ in self.asked]
