"""Reads SQL statements and tells where one of them touches user data without binding the scope."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from longmind.store.queries import EngineName

_STATEMENTS = (exp.Query, exp.Insert, exp.Update, exp.Delete)
_OWNERS = (exp.Select, exp.Insert, exp.Update, exp.Delete)


def unbound(
    text: str, engine: EngineName, user_tables: set[str], app_tables: frozenset[str] | set[str] = frozenset()
) -> list[str]:
    """What is wrong with a statement; an empty list when each use of a user table is bound to the scope.

    A table of an app is bound to the key of the app. It errs on the safe side: a use of such a table in a place it does
    not understand is wrong.
    """
    statements = sqlglot.parse(text, dialect=engine)
    if len(statements) != 1 or not isinstance(statements[0], _STATEMENTS):
        return ["it is not one SELECT, INSERT, UPDATE or DELETE"]
    return [
        *_complaints(statements[0], user_tables, "scope_id"),
        *_complaints(statements[0], set(app_tables), "app_key"),
    ]


def _complaints(statement: exp.Expr, user_tables: set[str], key: str) -> Iterator[str]:
    for cte in statement.find_all(exp.CTE):
        if cte.alias.lower() in user_tables:
            yield f"a common table expression hides the table {cte.alias}"
    for table in statement.find_all(exp.Table):
        if table.name.lower() not in user_tables:
            continue
        owner = table.find_ancestor(*_OWNERS)
        if isinstance(owner, exp.Insert):
            yield from _insert_complaints(owner, table, key)
        elif owner is None or not _is_bound(owner, table, user_tables, key):
            yield f"{table.sql()} is used without {table.alias_or_name}.{key} = :{key}"
    for update in statement.find_all(exp.Update):
        yield from _reassignments(update.expressions, key)


def _is_bound(owner: exp.Expr, table: exp.Table, user_tables: set[str], key: str) -> bool:
    alone = len([other for other in _tables_of(owner) if other.name.lower() in user_tables]) == 1
    names = {table.alias_or_name.lower(), ""} if alone else {table.alias_or_name.lower()}
    conditions = [owner.args.get("where")]
    if isinstance(table.parent, exp.Join) and table.parent.side in ("", "LEFT"):
        conditions.append(table.parent.args.get("on"))
    return any(_binds(part, names, key) for condition in conditions for part in _conjuncts(condition))


def _tables_of(owner: exp.Expr) -> list[exp.Table]:
    return [table for table in owner.find_all(exp.Table) if table.find_ancestor(*_OWNERS) is owner]


def _conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """The parts that must all be true."""
    match condition:
        case None:
            return
        case exp.Where() | exp.Paren():
            yield from _conjuncts(condition.this)
        case exp.And():
            yield from _conjuncts(condition.left)
            yield from _conjuncts(condition.right)
        case _:
            yield condition


def _binds(condition: exp.Expr, names: set[str], key: str) -> bool:
    if not isinstance(condition, exp.EQ):
        return False
    column, value = condition.left, condition.right
    if isinstance(column, exp.Placeholder):
        column, value = value, column
    return (
        isinstance(column, exp.Column)
        and column.name.lower() == key
        and column.table.lower() in names
        and _is_key(value, key)
    )


def _is_key(value: exp.Expr, key: str) -> bool:
    return isinstance(value, exp.Placeholder) and value.this == key


def _insert_complaints(insert: exp.Insert, table: exp.Table, key: str) -> Iterator[str]:
    target = insert.this
    if not isinstance(target, exp.Schema) or target.this is not table:
        yield f"the INSERT into {table.name} does not name its columns"
        return
    names = [column.name.lower() for column in target.expressions]
    if key not in names:
        yield f"the INSERT into {table.name} does not set {key}"
        return
    rows = _inserted_rows(insert.expression)
    if not rows or not all(_is_key(row[names.index(key)], key) for row in rows):
        yield f"the INSERT into {table.name} puts something else than :{key} into {key}"
    yield from _conflict_complaints(insert, key)


def _inserted_rows(source: exp.Expr | None) -> list[list[exp.Expr]]:
    match source:
        case exp.Values():
            return [row.expressions for row in source.expressions]
        case exp.Select():
            return [[column.unalias() for column in source.expressions]]
        case exp.SetOperation():
            return [*_inserted_rows(source.left), *_inserted_rows(source.right)]
        case _:
            return []


def _conflict_complaints(insert: exp.Insert, key: str) -> Iterator[str]:
    conflict = insert.args.get("conflict")
    if conflict is None:
        return
    keys = [key.find(exp.Identifier) for key in conflict.args.get("conflict_keys") or []]
    if conflict.expressions and not (keys and keys[0] is not None and keys[0].name.lower() == key):
        yield f"ON CONFLICT DO UPDATE is not about a key that begins with {key}"
    yield from _reassignments(conflict.expressions, key)


def _reassignments(assignments: list[exp.Expr], key: str) -> Iterator[str]:
    for assignment in assignments:
        if any(column.name.lower() == key for column in assignment.this.find_all(exp.Column, exp.Identifier)):
            yield f"it changes the {key} of a row"
