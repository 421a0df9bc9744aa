"""Apps that share memory blocks: their users have one set of blocks in the whole tenant."""

from __future__ import annotations

from dataclasses import fields

from longmind.errors import InvalidInput
from longmind.scope import EVERYBODY, Scope, SharingScope, validate_identity
from longmind.validation.text import quote_value

_HINT = "Write the ids of apps with commas between them, such as 'support, sales', or '*' alone for all apps."


class SharingApps:
    """The apps that the setting `apps_sharing_blocks` names. The host writes it; no caller of an operation can."""

    def __init__(self, setting: str) -> None:
        if not isinstance(setting, str):
            raise InvalidInput(f"apps_sharing_blocks is {quote_value(setting)}.", hint=_HINT)
        names = [name.strip() for name in setting.split(",")] if setting.strip() else []
        self._all = names == [EVERYBODY]
        if not self._all and any(name in ("", EVERYBODY) for name in names):
            raise InvalidInput(f"apps_sharing_blocks is {quote_value(setting)}.", hint=_HINT)
        self._apps = frozenset(names if self._all else (validate_identity("app_id", name) for name in names))

    def mark(self, scope: Scope) -> Scope:
        """Return the scope of the same ids that owns its blocks in the whole tenant, if its app shares them."""
        if isinstance(scope, SharingScope) or not (self._all or scope.app_id in self._apps):
            return scope
        return SharingScope(**{each.name: getattr(scope, each.name) for each in fields(scope)})
