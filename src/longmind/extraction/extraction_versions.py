"""The extraction versions that bindings and replays may name."""

from __future__ import annotations

import re
from collections.abc import Collection

from longmind.errors import InvalidInput
from longmind.validation.text import validate_text

_LONGEST = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]*")


class ExtractionVersions:
    """The versions that the extractor of an engine knows.

    They are those of the prompts that Longmind ships, also where the reader or the rules extract without a prompt: a
    binding stays valid when the extractor is exchanged. An extractor of the program's own may declare others in an
    attribute `versions`.
    """

    def __init__(self, extractor: object) -> None:
        declared = getattr(extractor, "versions", None)
        if declared is not None and (isinstance(declared, str) or not isinstance(declared, Collection) or not declared):
            raise InvalidInput(
                f"The extractor's versions are {declared!r}.", hint="Declare a list of names, for example ['v1']."
            )
        self._declared: Collection[str] | None = declared

    def validate(self, version: object) -> str:
        """Return a known version; raise InvalidInput for any other, and LimitExceeded for a very long one."""
        name = validate_text("extraction_version", version, limit=_LONGEST, blank=False)
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"extraction_version is {version!r}.", hint="Use letters, digits, '.', '-' and '_', like 'v1'."
            )
        # Imported on use: opening an engine need not read the folder of prompts.
        from longmind.extraction.model.prompt_versions import list_versions, to_full_name

        known = list_versions() if self._declared is None else sorted(self._declared)
        if (to_full_name(name) if self._declared is None else name) not in known:
            raise InvalidInput(f"Unknown extraction version {name!r}.", hint=f"Use one of {', '.join(known)}.")
        return name
