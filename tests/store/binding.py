"""Reads SQL statements and tells where one of them touches user data without binding the scope."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from recollect.store.queries import EngineName

_STATEMENTS = (exp.Query, exp.Insert, exp.Update, exp.Delete)
_OWNERS = (exp.Select, exp.Insert, exp.Update, exp.Delete)


def unbound(text: str, engine: EngineName, user_tables: set[str]) -> list[str]:
    """What is wrong with a statement; an empty list when each use of a user table is bound to the scope.

    It errs on the safe side: a use of a user table in a place it does not understand is wrong.
    """
    statements = sqlglot.parse(text, dialect=engine)
    if len(statements) != 1 or not isinstance(statements[0], _STATEMENTS):
        return ["it is not one SELECT, INSERT, UPDATE or DELETE"]
    return list(_complaints(statements[0], user_tables))


def _complaints(statement: exp.Expr, user_tables: set[str]) -> Iterator[str]:
    for cte in statement.find_all(exp.CTE):
        if cte.alias.lower() in user_tables:
            yield f"a common table expression hides the table {cte.alias}"
    for table in statement.find_all(exp.Table):
        if table.name.lower() not in user_tables:
            continue
        owner = table.find_ancestor(*_OWNERS)
        if isinstance(owner, exp.Insert):
            yield from _insert_complaints(owner, table)
        elif owner is None or not _is_bound(owner, table, user_tables):
            yield f"{table.sql()} is used without {table.alias_or_name}.scope_id = :scope_id"
    for update in statement.find_all(exp.Update):
        yield from _reassignments(update.expressions)


def _is_bound(owner: exp.Expr, table: exp.Table, user_tables: set[str]) -> bool:
    alone = len([other for other in _tables_of(owner) if other.name.lower() in user_tables]) == 1
    names = {table.alias_or_name.lower(), ""} if alone else {table.alias_or_name.lower()}
    conditions = [owner.args.get("where")]
    if isinstance(table.parent, exp.Join) and table.parent.side in ("", "LEFT"):
        conditions.append(table.parent.args.get("on"))
    return any(_binds(part, names) for condition in conditions for part in _conjuncts(condition))


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


def _binds(condition: exp.Expr, names: set[str]) -> bool:
    if not isinstance(condition, exp.EQ):
        return False
    column, value = condition.left, condition.right
    if isinstance(column, exp.Placeholder):
        column, value = value, column
    return (
        isinstance(column, exp.Column)
        and column.name.lower() == "scope_id"
        and column.table.lower() in names
        and _is_scope(value)
    )


def _is_scope(value: exp.Expr) -> bool:
    return isinstance(value, exp.Placeholder) and value.this == "scope_id"


def _insert_complaints(insert: exp.Insert, table: exp.Table) -> Iterator[str]:
    target = insert.this
    if not isinstance(target, exp.Schema) or target.this is not table:
        yield f"the INSERT into {table.name} does not name its columns"
        return
    names = [column.name.lower() for column in target.expressions]
    if "scope_id" not in names:
        yield f"the INSERT into {table.name} does not set scope_id"
        return
    rows = _inserted_rows(insert.expression)
    if not rows or not all(_is_scope(row[names.index("scope_id")]) for row in rows):
        yield f"the INSERT into {table.name} puts something else than :scope_id into scope_id"
    yield from _conflict_complaints(insert)


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


def _conflict_complaints(insert: exp.Insert) -> Iterator[str]:
    conflict = insert.args.get("conflict")
    if conflict is None:
        return
    keys = [key.find(exp.Identifier) for key in conflict.args.get("conflict_keys") or []]
    if conflict.expressions and not (keys and keys[0] is not None and keys[0].name.lower() == "scope_id"):
        yield "ON CONFLICT DO UPDATE is not about a key that begins with scope_id"
    yield from _reassignments(conflict.expressions)


def _reassignments(assignments: list[exp.Expr]) -> Iterator[str]:
    for assignment in assignments:
        if any(column.name.lower() == "scope_id" for column in assignment.this.find_all(exp.Column, exp.Identifier)):
            yield "it changes the scope_id of a row"
