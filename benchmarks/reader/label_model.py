"""A scripted language model that answers with the labels: how far reconciliation and the handling of texts can get.

It reads the conversation and the known facts from the request, as a model does, and decides by the labels alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from longmind.extraction.candidate import Extracted, KnownFact, SourceMessage
from longmind.extraction.model.extractor import ModelExtractor
from longmind.models.content import TextBlock
from longmind.providers.language_model import ModelRequest
from longmind.providers.testing import ScriptedModel

VERSION = "extraction-v3"
_DECISIONS = {"replaces": "replace", "corrects": "correct", "ends": "end"}
_COPIED = ("text", "subject", "attribute", "qualifier", "value", "kind", "category", "importance", "certainty")
_ENOUGH = 0.5
"""The share of the words of what changes that a known fact must have: the same as in the scorer."""


class LabelledExtractor:
    """A model extractor whose model knows the labels. It uses one version of the prompt, whatever it is asked for."""

    name = "labels"

    def __init__(self, users: Sequence[dict[str, Any]], scorer: Any) -> None:
        self._conversations = [conversation["messages"] for user in users for conversation in user["conversations"]]
        self._scorer = scorer
        self._extractor = ModelExtractor(ScriptedModel(self._answer))

    def wants_known_facts(self, version: str) -> bool:
        """Return whether the prompt shows known facts, as the one of this extractor does."""
        return self._extractor.wants_known_facts(VERSION)

    def extract(self, messages: Sequence[SourceMessage], version: str, known: Sequence[KnownFact] = ()) -> Extracted:
        """Return the labelled facts as candidates."""
        return self._extractor.extract(messages, VERSION, known)

    def _answer(self, request: ModelRequest) -> dict[str, Any]:
        lines = list(read_lines(request))
        said = [line for line in lines if "id" in line]
        known = [line for line in lines if "known" in line]
        labelled = self._find_conversation(said)
        facts = [
            self._make_fact(fact, line["id"], known)
            for line in said
            if not line.get("context")
            for fact in labelled[_to_place(line)]["facts"]
        ]
        return {"facts": facts}

    def _find_conversation(self, said: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the labelled messages of the conversation that some lines are from."""
        for messages in self._conversations:
            if all(
                _to_place(line) < len(messages) and line["text"] in messages[_to_place(line)]["text"] for line in said
            ):
                found: list[dict[str, Any]] = messages
                return found
        raise LookupError(f"No labelled conversation has the message {said[0]['text'][:60]!r}.")

    def _make_fact(self, fact: dict[str, Any], source: str, known: Sequence[dict[str, Any]]) -> dict[str, Any]:
        decision = _DECISIONS.get(fact.get("changes") or "", "add")
        return {
            **{name: fact.get(name) for name in _COPIED},
            "negated": bool(fact.get("negated")),
            "valid_from": fact.get("valid_from"),
            "sources": [source],
            "decision": decision,
            "of": None if decision == "add" else self._find_known(fact.get("of") or "", known),
            "entities": [],
        }

    def _find_known(self, text: str, known: Sequence[dict[str, Any]]) -> str | None:
        """Return the number of the known fact that shares most words with a text, or None if none shares enough."""
        wanted = self._list_words(text)
        shares = [(len(wanted & self._list_words(each["text"])) / max(1, len(wanted)), each["known"]) for each in known]
        share, number = max(shares, key=lambda each: each[0], default=(0.0, None))
        return number if share >= _ENOUGH else None

    def _list_words(self, text: str) -> set[str]:
        return {self._scorer.stem(word) for word in self._scorer.words(text)}


def read_lines(request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Yield the lines of known facts and of the transcript that a request shows."""
    for message in request.messages:
        for block in message.blocks:
            if isinstance(block, TextBlock):
                yield from (json.loads(line) for line in block.text.splitlines() if line.startswith("{"))


def _to_place(line: dict[str, Any]) -> int:
    """Return the place in its conversation of the message that a line shows: "m1" is the first."""
    return int(line["id"].removeprefix("m")) - 1
