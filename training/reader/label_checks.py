"""Check files of labels before they are used: `python -m training.reader.label_checks LABELS MESSAGES`.

LABELS has one line of JSON for each message; MESSAGES is the listing that an annotator reads, with an id at the
beginning of each message of a user.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.reader.conversations import DEFAULTS, list_messages, list_real_messages, read_users

KNOWN_ATTRIBUTE = re.compile(r"[a-z_]+")
KINDS = frozenset("FACT PREFERENCE RULE INTENTION EPISODE".split())
CATEGORIES = frozenset(
    "identity home work family people health food taste rule plan goal project finance possession pet travel education "
    "hobby event".split()
)
NOTHING = frozenset("question small_talk task transient general quoted hypothetical sarcasm code duplicate".split())
CHANGES = (None, "replaces", "corrects", "ends")
NEEDED = frozenset("text quote value attribute kind category importance".split())


def list_texts() -> dict[str, str]:
    """Return the text of every message that can be labelled, by its id."""
    texts = {name: text for user in read_users() for name, _, _, text in list_messages(user)}
    texts.update({name: text for name, _, _, text in list_real_messages()})
    return texts


def find_faults(label: dict[str, Any], texts: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong with the label of one message."""
    text = texts.get(label.get("m", ""))
    if text is None:
        yield "unknown message"
        return
    facts = label.get("facts")
    if not isinstance(facts, list):
        yield "facts must be a list"
        return
    if not facts and label.get("nothing") not in NOTHING:
        yield f"nothing must be one of {sorted(NOTHING)}"
    for fact in facts:
        yield from _find_faults_of_fact(fact, text)


def _find_faults_of_fact(fact: dict[str, Any], text: str) -> Iterator[str]:
    if NEEDED - set(fact) or set(fact) - NEEDED - set(DEFAULTS):
        yield f"keys missing or unknown: {sorted((NEEDED - set(fact)) | (set(fact) - NEEDED - set(DEFAULTS)))}"
        return
    fact = {**DEFAULTS, **fact}
    if not fact["quote"] or fact["quote"] not in text:
        yield f"the quote is not in the message letter for letter: {fact['quote']!r}"
    elif fact["value"] is not None and (not fact["value"] or fact["value"] not in fact["quote"]):
        yield f"the value is not in the quote letter for letter: {fact['value']!r}"
    if not KNOWN_ATTRIBUTE.fullmatch(str(fact["attribute"])):
        yield f"the attribute must be a short noun in lower case: {fact['attribute']!r}"
    for name, allowed in (("kind", KINDS), ("category", CATEGORIES), ("changes", CHANGES)):
        if fact[name] not in allowed:
            yield f"{name} must be one of {allowed}: {fact[name]!r}"
    if fact["importance"] not in (2, 3, 4, 5) or fact["certainty"] not in (1, 0.7, 0.4):
        yield "importance must be 2 to 5, certainty 1, 0.7 or 0.4"
    if fact["negated"] not in (True, False):
        yield "negated must be true or false"
    if fact["valid_from"] is not None and not re.fullmatch(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d)?)?)?", fact["valid_from"]):
        yield f"valid_from must be an ISO date: {fact['valid_from']!r}"
    if (fact["of"] is None) != (fact["changes"] is None):
        yield "of goes with changes"


def main() -> int:
    """Print the faults of a file of labels."""
    texts, faults = list_texts(), 0
    wanted = re.findall(r"^\[(\S+#\d+)\] USER:", Path(sys.argv[2]).read_text(), re.MULTILINE)
    seen: list[str] = []
    for number, line in enumerate(Path(sys.argv[1]).read_text().splitlines(), 1):
        try:
            label = json.loads(line)
        except ValueError as error:
            print(f"line {number}: {error}")
            faults += 1
            continue
        seen.append(label.get("m", ""))
        for fault in find_faults(label, texts):
            print(f"line {number}, {label.get('m')}: {fault}")
            faults += 1
    for name in sorted(set(wanted) - set(seen)):
        print(f"no label for {name}")
        faults += 1
    print(f"{len(seen)} labels, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
