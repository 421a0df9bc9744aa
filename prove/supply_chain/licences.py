"""The licences of all packages in the lock, and whether an Apache-2.0 program may be used together with them."""

from __future__ import annotations

import re
from collections import Counter
from importlib.metadata import PackageNotFoundError, distribution

from prove.supply_chain.lock import Pin

# Each asks for no more than that its notice is kept.
PERMISSIVE = re.compile(
    r"\b(MIT(-0)?|0?BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|CC0|CNRI|Unlicense|public domain)\b", re.I
)
# These ask for more if the package itself is changed; each is used unchanged.
USED_AS_THEY_COME = {
    "apsw": "any licence that the Open Source Initiative has approved, at the user's choice",
    "certifi": "MPL-2.0; comes with the HTTP clients, unchanged",
    "hypothesis": "MPL-2.0; for tests alone",
    "psycopg": "LGPL-3.0; an extra, imported as a library of its own that anybody can replace",
    "psycopg-binary": "LGPL-3.0; as psycopg",
    "psycopg-pool": "LGPL-3.0; as psycopg",
    "pathspec": "MPL-2.0; for building alone",
    "tqdm": "MPL-2.0 and MIT; comes with clients of models, unchanged",
}


def find_licence(package: str) -> str | None:
    """Return the licence that a package declares; None if it is not installed here, empty if it declares none."""
    try:
        metadata = distribution(package).metadata
    except PackageNotFoundError:
        return None
    expression = " ".join(metadata.get_all("License-Expression") or [])
    classifiers = [each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier") or [] if each[:7] == "License"]
    # This classifier is about all the others.
    classifiers = [each for each in classifiers if each != "DFSG approved"]
    text = "".join(metadata.get_all("License") or []).strip().splitlines()
    return expression or ", ".join(classifiers) or (text[0] if text else "")


def problems(licences: dict[str, str | None]) -> list[str]:
    """Return the licences that are neither permissive nor explained."""
    found = []
    for name, licence in licences.items():
        if licence is None or name in USED_AS_THEY_COME:
            continue
        alternatives = re.split(r"\s+OR\s+", licence)
        if not any(_is_permissive(each) for each in alternatives):
            found.append(f"{name}: {licence or 'says nothing'}")
    return found


def _is_permissive(licence: str) -> bool:
    """Return whether every part of a licence is permissive."""
    return all(
        PERMISSIVE.search(part) and not re.search("GPL|MPL", part) for part in re.split(r"\s+AND\s+|, ", licence)
    )


def count_licences(locked: list[Pin]) -> tuple[dict[str, str | None], dict[str, int]]:
    """Return the licence of each package in the lock, and the number of packages with each licence."""
    licences = {pin.name: find_licence(pin.name) for pin in locked}
    return licences, dict(Counter(licence or "not installed here" for licence in licences.values()).most_common())
