"""The group of a scope, whose entries the memory tools read and write."""

from __future__ import annotations

import re

from longmind.errors import ToolError
from longmind.memory.default_space import DEFAULT_GROUP
from longmind.scope import Scope

_GROUP = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]*")


def find_group(scope: Scope) -> str:
    """Return the group of a scope, or the default one; raise ToolError if its name is not valid."""
    group = scope.group or DEFAULT_GROUP
    if not _GROUP.fullmatch(group):
        raise ToolError(
            "VALIDATION_FAILED",
            "The group of this context is not a valid name.",
            stage=2,
            field="group",
            hint="Use letters, digits, '-' and '_', and begin with a letter or a digit.",
        )
    return group
