"""Operations on all that belongs to a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from longmind.admin import import_sources as sources
from longmind.admin import user_export as exporting
from longmind.admin.import_sources import Source
from longmind.audit import app_log as log
from longmind.clock import Clock
from longmind.errors import Forbidden, InvalidInput
from longmind.ids import new_id
from longmind.scope import Scope, validate_identity
from longmind.store.database import Database, RowRefused, Transaction
from longmind.store.tables import keys
from longmind.store.whole_tables.rows import UserTableColumns
from longmind.validation.text import quote_value

Forget = Callable[[Scope], str | None]
"""Removes what is kept of a user beside the database, and tells what is left to do."""


class Admin:
    """Export, import and erasure. Another user's data needs the capability `admin`, and leaves a line in the log."""

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        tables: UserTableColumns,
        audit_key: str,
        rebuild_megabytes: float,
        forget: Forget,
        mirror: Callable[[Scope], object],
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._tables = tables
        self._key = audit_key
        self._rebuild_megabytes = rebuild_megabytes
        self._forget = forget
        self._mirror = mirror

    def export_user_data(self, user_id: str | None = None) -> dict[str, Any]:
        """All that is kept of a user as one document, ready for JSON.

        It has `conversations` with their messages of all visibilities, `spaces`, `atoms`, `entities`, `bindings`,
        `grants`, `blocks` with their revisions, `events`, `summaries`, `jobs`, `quotas`, `sleep_time` and `audit`; and
        `records`, the rows as they are, by which it can be imported. It is the same as long as nothing has changed.
        """
        return exporting.document(self._database, self._tables, self._subject(user_id, "export_user_data"))

    def export_user_archive(self, target: str | Path | IO[bytes], user_id: str | None = None) -> dict[str, int]:
        """Write the same as a ZIP archive, row by row: for users of any size. Gives how many lines each file has.

        A path must not be there yet, and is made for its owner alone, with all of the archive or not at all.
        """
        scope = self._subject(user_id, "export_user_archive")
        if not isinstance(target, str | Path):
            return exporting.archive(self._database, self._tables, scope, target)
        # Half an archive is none; and whoever erases the user next relies on a whole one.
        with exporting.written_file(Path(target)) as file:
            return exporting.archive(self._database, self._tables, scope, file)

    def import_user_data(self, source: Source, user_id: str | None = None) -> dict[str, Any]:
        """Bring an export in, a document or an archive, all of it or nothing; ids stay what they are.

        Whose it becomes is `user_id`, by default the current user. It needs the capability `admin`, since an export
        can hold what a user may not do alone. A file that is not whole is refused, and so is one whose place is taken
        by other data; the same one again changes nothing.
        """
        if "admin" not in self._scope.capabilities:
            self._refuse(self._named(user_id), "import_user_data")
        target = self._named(user_id)
        tables = list(self._tables.all.values())
        now = self._clock()

        # Loaded when it is used: it looks into the search index, and what that computes with takes long to load.
        from longmind.admin import user_import as importing

        def bring(run: Transaction) -> dict[str, int]:
            run.lift_time_limit()
            counts = importing.bring_in(run, records, tables, target)
            details = {"subject": log.pseudonym(self._key, target), "counts": counts}
            log.record(run, self._key, self._scope, "import_user_data", new_id("imp", now), details, now)
            return counts

        with sources.opened(source) as records:
            try:
                imported = self._database.write(target, bring)
            except RowRefused as error:
                raise InvalidInput(
                    "The export has rows that this database does not take.", hint="Import it as it was exported."
                ) from error
        self._mirror(target)
        return {"imported": imported}

    def delete_user_data(self, user_id: str | None = None, *, confirm: bool = False) -> dict[str, Any]:
        """Erase a user for good: every row, and all that was derived from them. `confirm` must be True.

        Gives what was `deleted`, by place, and the `receipt`, which stands in the log of the app. To do it again finds
        nothing more. Work that is under way cannot write any more.
        """
        if confirm is not True:
            raise InvalidInput(
                f"confirm is {quote_value(confirm)}: nothing was erased.",
                hint="Pass confirm=True; it cannot be undone.",
            )
        # What it needs of the search index takes long to load.
        from longmind.admin import user_erasure as erasing

        scope = self._subject(user_id, "delete_user_data")
        tables = list(self._tables.all.values())
        now = self._clock()
        receipt_id = new_id("era", now)
        # Keys are the host's, so they are not in the scope that is erased. They go first: then nobody comes in by them.
        forgotten = self._database.write(None, keys.forget_user, scope, now)

        def erase(run: Transaction) -> tuple[dict[str, Any], erasing.Erased]:
            erased = erasing.erase(run, scope, tables, now)
            erased.counts["access_keys"] = forgotten
            details = {
                "subject": log.pseudonym(self._key, scope),
                "epoch": erased.epoch,
                "counts": erased.counts,
                "audit": erased.chains,
                **({"files": erased.written_in} if erased.written_in else {}),
            }
            return log.record(run, self._key, self._scope, "delete_user_data", receipt_id, details, now), erased

        receipt, erased = self._database.write_exclusively(scope, erase)
        # Whatever is in the way of it, what has been erased is told.
        beside = self._forget(scope)
        scrubbed = self._database.scrub(self._rebuild_megabytes)
        left = " ".join(each for each in (beside, scrubbed.left) if each)
        physical = {"done": scrubbed.done and beside is None, "how": scrubbed.how, "left": left or None}
        return {"deleted": erased.counts, "receipt": receipt, "physical": physical, "files": erased.files}

    def verify_receipt(self, receipt: Mapping[str, Any]) -> bool:
        """Whether the receipt of an erasure stands in the log of this app, word for word, and chained to the rest."""
        if not isinstance(receipt, Mapping):
            raise InvalidInput("receipt is what delete_user_data gave as such.")
        owner = log.to_log_owner(self._scope)
        return self._database.read(owner, log.is_proven, self._key, owner, receipt)

    def _named(self, user_id: str | None) -> Scope:
        whose = self._scope.user_id if user_id is None else validate_identity("user_id", user_id)
        return Scope(self._scope.tenant_id, self._scope.app_id, whose)

    def _subject(self, user_id: str | None, operation: str) -> Scope:
        """Whose data it is. That of another user is for administrators, and whoever asks for it stands in the log."""
        scope = self._named(user_id)
        if scope.user_id == self._scope.user_id:
            return scope
        if "admin" not in self._scope.capabilities:
            self._refuse(scope, operation)
        if operation != "delete_user_data":
            # An erasure is noted in its own transaction, with its receipt.
            self._note(scope, operation)
        return scope

    def _refuse(self, subject: Scope, operation: str) -> None:
        self._note(subject, operation, refused=True)
        raise Forbidden(
            "The data of other users, and import, need the capability 'admin'.",
            hint="Make the context with capabilities={'admin'}.",
        )

    def _note(self, subject: Scope, operation: str, *, refused: bool = False) -> None:
        now = self._clock()
        details = {"subject": log.pseudonym(self._key, subject)}
        outcome: Any = "rejected" if refused else "routed"
        self._database.write(
            self._scope, log.record, self._key, self._scope, operation, new_id("adm", now), details, now, outcome
        )
