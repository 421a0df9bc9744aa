"""Operations on everything that belongs to a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from longmind.audit import app_log
from longmind.clock import Clock, Micros
from longmind.errors import Forbidden, InvalidInput
from longmind.ids import new_id
from longmind.scope import Scope, ScopedService, validate_identity
from longmind.store.database import Database, RowRefused, Transaction
from longmind.store.tables import keys, ledger
from longmind.store.whole_tables.user_rows import UserTableColumns
from longmind.validation.text import quote_value

ImportSource = Mapping[str, Any] | str | Path | IO[bytes]
"""An export to import: a document, a path, or a file that is open for reading and can be rewound."""
ForgetUser = Callable[[Scope], str | None]
"""Removes the caches and files of a user, and returns a warning about files that remain, if any."""


class Admin(ScopedService):
    """Export, import and erasure of users.

    The data of another user needs the capability `admin`. Every such access, also one that is refused, leaves a line in
    the log of the app.
    """

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        tables: UserTableColumns,
        audit_key: str,
        rebuild_megabytes: float,
        forget: ForgetUser,
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
        """Return everything stored about a user as one document, ready for JSON.

        It has `conversations` with their messages of all visibilities, `spaces`, `atoms`, `entities`, `bindings`,
        `grants`, `blocks` with their revisions, `events`, `summaries`, `jobs`, `quotas`, `sleep_time` and `audit`; and
        `records`, the plain rows, for an import. Two exports are equal if nothing changed in between.

        user_id: by default the current user; another one needs the capability `admin`.
        """
        from longmind.admin import user_export

        return user_export.export_document(self._database, self._tables, self._authorise(user_id, "export_user_data"))

    def export_user_archive(self, target: str | Path | IO[bytes], user_id: str | None = None) -> dict[str, int]:
        """Write everything stored about a user to a ZIP archive, row by row: for users of any size.

        Returns the number of lines of each file in the archive. A path must not exist yet; the new file is readable by
        its owner alone, and a failed export leaves no file.

        target: the path, or a binary file that is open for writing. user_id: by default the current user; another one
        needs the capability `admin`.
        """
        from longmind.admin import user_export

        scope = self._authorise(user_id, "export_user_archive")
        if not isinstance(target, str | Path):
            return user_export.export_archive(self._database, self._tables, scope, target)
        # The user may be erased next, so an archive is complete on disk, or there is none.
        with user_export.new_export_file(Path(target)) as file:
            return user_export.export_archive(self._database, self._tables, scope, file)

    def import_user_data(self, source: ImportSource, user_id: str | None = None) -> dict[str, Any]:
        """Import an export, a document or an archive, all of it or nothing; ids stay as they are.

        The data becomes that of `user_id`, by default the current user. It needs the capability `admin`, since an
        export can hold what a user may not do alone. Raises InvalidInput for an incomplete export, and Conflict if its
        ids belong to other data; importing the same one again changes nothing.

        source: the document, the path of an export, or a binary file that is open for reading and can be rewound.
        """
        if "admin" not in self._scope.capabilities:
            self._refuse(self._make_scope(user_id), "import_user_data")
        target = self._make_scope(user_id)
        tables = list(self._tables.all.values())
        now = self._clock()

        # Imported late: it checks the search index, whose packages take long to load.
        from longmind.admin import import_sources, user_import

        def import_and_log(run: Transaction) -> dict[str, int]:
            run.lift_time_limit()
            counts = user_import.import_records(run, records, tables, target)
            details = {"subject": app_log.pseudonym(self._key, target), "counts": counts}
            import_id = new_id("imp", now)
            app_log.record(run, self._key, self._scope, "import_user_data", import_id, details, now)
            _record_for_app(run, target, "user.imported", now, import_id=import_id)
            return counts

        with import_sources.open_source(source) as records:
            try:
                imported = self._database.write(target, import_and_log)
            except RowRefused as error:
                raise InvalidInput(
                    "The export has rows that the database refuses.", hint="Import the export unchanged."
                ) from error
        self._mirror(target)
        return {"imported": imported}

    def delete_user_data(self, user_id: str | None = None, *, confirm: bool = False) -> dict[str, Any]:
        """Erase a user for good: every row, and everything derived from the rows. `confirm` must be True.

        Returns the numbers of `deleted` rows, by place, and the `receipt`, which stands in the log of the app. Erasing
        again finds nothing more. Work of the user that is under way can no longer write.

        The changes of the user are erased as well. The app has one more, `user.erased`, which names the user only by
        the hash that stays with the epoch.

        user_id: by default the current user; another one needs the capability `admin`.
        """
        if confirm is not True:
            raise InvalidInput(
                f"confirm is {quote_value(confirm)}: nothing was erased.",
                hint="Pass confirm=True. An erasure cannot be undone.",
            )
        # Imported late: the search index, whose packages take long to load, is rewritten too.
        from longmind.admin import user_erasure

        scope = self._authorise(user_id, "delete_user_data")
        tables = list(self._tables.all.values())
        now = self._clock()
        receipt_id = new_id("era", now)
        # Keys belong to the host, not to the scope that is erased. They go first, so that nobody gets in with one.
        revoked_keys = self._database.write(None, keys.forget_user, scope, now)

        def erase(run: Transaction) -> tuple[dict[str, Any], user_erasure.ErasureResult]:
            erased = user_erasure.erase(run, scope, tables, now)
            erased.counts["access_keys"] = revoked_keys
            details = {
                "subject": app_log.pseudonym(self._key, scope),
                "epoch": erased.epoch,
                "counts": erased.counts,
                "audit": erased.chains,
                **({"files": erased.table_files} if erased.table_files else {}),
            }
            receipt = app_log.record(run, self._key, self._scope, "delete_user_data", receipt_id, details, now)
            _record_for_app(run, scope, "user.erased", now, epoch=erased.epoch, receipt_id=receipt_id)
            return receipt, erased

        receipt, erased = self._database.write_exclusively(scope, erase)
        # From here on the rows are gone: what cannot be removed elsewhere is reported, and is no error.
        remaining_files = self._forget(scope)
        scrubbed = self._database.scrub(self._rebuild_megabytes)
        remaining_work = " ".join(each for each in (remaining_files, scrubbed.left) if each)
        physical = {
            "done": scrubbed.done and remaining_files is None,
            "how": scrubbed.how,
            "left": remaining_work or None,
        }
        return {"deleted": erased.counts, "receipt": receipt, "physical": physical, "files": erased.files}

    def verify_receipt(self, receipt: Mapping[str, Any]) -> bool:
        """Return whether the log of this app holds the receipt of an erasure unchanged, chained to the rest."""
        if not isinstance(receipt, Mapping):
            raise InvalidInput(
                f"receipt is {quote_value(receipt)}.",
                hint="Pass the receipt that delete_user_data returned, unchanged.",
            )
        owner = app_log.to_log_owner(self._scope)
        return self._database.read(owner, app_log.is_proven, self._key, owner, receipt)

    def _make_scope(self, user_id: str | None) -> Scope:
        chosen = self._scope.user_id if user_id is None else validate_identity("user_id", user_id)
        return self._scope.make_for_user(chosen)

    def _authorise(self, user_id: str | None, operation: str) -> Scope:
        """Return the scope of the user whose data it is, and log the access to the data of another user.

        Raises Forbidden, after logging the refusal, for another user's data without the capability `admin`.
        """
        scope = self._make_scope(user_id)
        if scope.user_id == self._scope.user_id:
            return scope
        if "admin" not in self._scope.capabilities:
            self._refuse(scope, operation)
        if operation != "delete_user_data":
            # An erasure is logged in its own transaction, with its receipt.
            self._log(scope, operation)
        return scope

    def _refuse(self, subject: Scope, operation: str) -> None:
        self._log(subject, operation, refused=True)
        raise Forbidden(
            "Imports, and access to the data of other users, need the capability 'admin'.",
            hint="Make the context with capabilities={'admin'}.",
        )

    def _log(self, subject: Scope, operation: str, *, refused: bool = False) -> None:
        now = self._clock()
        details = {"subject": app_log.pseudonym(self._key, subject)}
        outcome: Any = "rejected" if refused else "routed"
        self._database.write(
            self._scope, app_log.record, self._key, self._scope, operation, new_id("adm", now), details, now, outcome
        )


def _record_for_app(run: Transaction, user: Scope, kind: str, now: Micros, **data: Any) -> None:
    """Record a change of a whole user in the ledger of the app.

    The user's own ledger is erased, or is that of an export word for word, and here nothing may name the user.
    """
    app = app_log.to_log_owner(user)
    with run.bind_scope(app) as app_run:
        ledger.record_change(app_run, app, kind, now, scope_id=user.id, **data)
