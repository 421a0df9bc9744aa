"""Writes those parts of the documentation that the code already says.

python -m tools.docs           write docs/operations.md and the tables in the other pages
python -m tools.docs --check   fail if one of them is not current
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import longmind
from longmind import errors
from longmind.conversations.validation import TITLE_LIMIT
from longmind.engine import Engine
from longmind.jobs.service import PAYLOAD_LIMIT
from longmind.maintenance import Maintenance
from longmind.models import change, content, conversation, job, message, tool, turn
from longmind.models.value import Value
from longmind.operations import OPERATIONS, Operation
from longmind.scope import IDENTITY_LIMIT, Capability
from longmind.settings import Settings
from longmind.validation import text
from longmind.validation.identifiers import METADATA_LIMIT, READ_LIMIT
from tools import commands

DOCS = Path(__file__).parent.parent / "docs"
WIDTH = 100

CHOICES = {
    "ChangeKind": change.ChangeKind,
    "ConversationStatus": conversation.ConversationStatus,
    "EntryType": tool.EntryType,
    "JobStatus": job.JobStatus,
    "SummaryOutcome": conversation.SummaryOutcome,
    "Outcome": tool.Outcome,
    "Role": message.Role,
    "TurnStatus": turn.TurnStatus,
    "Visibility": message.Visibility,
}
VALUES: tuple[type[Value], ...] = (
    conversation.Conversation,
    conversation.RollingSummary,
    message.Message,
    message.Turn,
    message.AssistantTurn,
    message.Usage,
    turn.TurnOptions,
    turn.TurnResult,
    turn.ToolInvocation,
    content.TextBlock,
    content.ImageBlock,
    content.ToolUseBlock,
    content.ToolResultBlock,
    job.Job,
    job.WorkReport,
    change.Change,
)


def operations_page() -> str:
    """The reference: every operation, the engine's own methods, and the values that go in and out."""
    services = list(dict.fromkeys(operation.service for operation in OPERATIONS))
    parts = [
        "# Operations",
        "This page is written by `python -m tools.docs` from the code; do not edit it. What the operations are for is"
        " told in [conversations](../how-to/conversations.md), [running a turn](../how-to/turns.md),"
        " [jobs](../how-to/jobs.md) and [changes](../how-to/changes.md).",
        "Every operation belongs to a context, and a context to one user: `ctx.conversations.get_messages(…)`. The"
        " [asynchronous](../how-to/async.md) engine has the same ones to await.",
        table(
            ("operation", "access", "what it does"),
            ([f"[`{each.path}`](#{slug(each.path)})", each.access, each.summary] for each in OPERATIONS),
        ),
    ]
    for service in services:
        parts.append(f"## {service}")
        parts += [part for each in OPERATIONS if each.service == service for part in operation_section(each)]
    parts += ["## The engine", "What the host of the engine calls; none of it belongs to one user."]
    parts += [part for name, method in engine_methods() for part in method_section(name, method)]
    parts += ["## Names in the signatures", names_table()]
    parts += [
        "## Values",
        "All are frozen. `model_dump_json()` writes the JSON names; both kinds of names are accepted.",
    ]
    parts += [part for value in VALUES for part in value_section(value)]
    return "\n\n".join(parts) + "\n"


def operation_section(operation: Operation) -> Iterator[str]:
    yield f"### {operation.path}"
    yield signature_block(operation.name, operation.method)
    yield from docstring(operation.method)
    needs = f", with the capability `{operation.needs}`" if operation.needs else ""
    yield f"Access: {operation.access}{needs}."
    yield table(
        ("parameter", "type", "default"),
        (
            [
                f"`{each.name}`",
                f"`{each.annotation}`",
                "required" if each.default is each.empty else f"`{written_default(each.default)}`",
            ]
            for each in parameters(operation.method)
        ),
    )


def engine_methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    yield "longmind.open", longmind.open
    for name, method in (*vars(Engine).items(), *vars(Maintenance).items()):
        # renew_after_fork is called by Python itself.
        if inspect.isfunction(method) and not name.startswith("_") and name != "renew_after_fork":
            yield f"engine.{name}", method


def method_section(name: str, method: Callable[..., Any]) -> Iterator[str]:
    yield f"### {name}"
    yield signature_block(name.rpartition(".")[2], method)
    yield from docstring(method)


def names_table() -> str:
    rows = [[f"`{name}`", one_of(choice)] for name, choice in CHOICES.items()]
    rows += [
        ["`Content`", "a text, or a list of blocks: values, or dicts like them"],
        ["`Instant`", "an ISO 8601 text or a `datetime`; without a zone it is taken as UTC"],
        ["`Page[…]`", "a list with `next_cursor`: pass it as `cursor` for what comes after, `None` is the end"],
        ["`Subscriber`", "a function that is given a `Change`"],
        ["`Handler`", "a function that is given a `JobRun` and returns a JSON value or an `Effect`"],
        ["`Confirm`", "a function that asks the user a question and returns whether the user agrees"],
        ["`Capability`", one_of(Capability)],
        ["`LanguageModel`", "a model of one's own: `name`, and `ask(request, on_text=…, cancel=…)`"],
        ["`Tool`, `BoundTool`", "what a model may ask to be done; the second does it itself"],
        ["`ToolHandler`", "a function that is given the name of a tool and its arguments, and returns its result"],
        ["`OnText`", "a function that is given each piece of an answer's text"],
        ["`Cancel`", "ends the calls it was given to, by `cancel()` from any thread"],
        ["`Clock`", "a function that returns microseconds since 1970 UTC"],
    ]
    return table(("name", "what it is"), rows)


def value_section(value: type[Value]) -> Iterator[str]:
    yield f"### {value.__name__}"
    notes = attribute_docstrings(value)
    yield table(
        ("attribute", "JSON name", "type", "note"),
        (
            [f"`{name}`", f"`{field.alias}`", f"`{value.__annotations__[name]}`", notes.get(name, "")]
            for name, field in value.model_fields.items()
        ),
    )


def settings_table() -> str:
    notes = attribute_docstrings(Settings)
    return table(
        ("setting", "environment variable", "default", "what it does"),
        (
            [f"`{each.name}`", f"`LONGMIND_{each.name.upper()}`", f"`{each.default!r}`", notes[each.name]]
            for each in dataclasses.fields(Settings)
        ),
    )


def errors_tree() -> str:
    drawn = (errors.__doc__ or "").split("\n\n")[1]
    hints = table(
        ("error", "status", "hint it comes with, unless the place that raises it knows better"),
        ([f"`{each.__name__}`", str(each.status), each.default_hint] for each in error_classes()),
    )
    return f"```text\n{textwrap.dedent(drawn)}\n```\n\n{hints}"


def error_classes() -> list[type[errors.LongmindError]]:
    found = [each for each in vars(errors).values() if inspect.isclass(each)]
    return [each for each in found if issubclass(each, errors.LongmindError)]


def limits_table() -> str:
    return table(
        ("what", "limit", "beyond it"),
        (
            ["content of one message, as JSON", f"{content.MESSAGE_LIMIT:,} bytes of UTF-8", "`LimitExceeded`"],
            ["`metadata`, as JSON", f"{METADATA_LIMIT:,} bytes of UTF-8", "`LimitExceeded`"],
            ["`title`", f"{TITLE_LIMIT:,} characters", "`LimitExceeded`"],
            ["`namespace`, `session_id`", f"{IDENTITY_LIMIT:,} characters, not blank, not `*`", "`InvalidInput`"],
            [
                "`idempotency_key`, `trace_id`, `tool_use_id`, `tool_name`, `model`, `provider`, `stop_reason`",
                f"{IDENTITY_LIMIT:,} characters, not blank",
                "`LimitExceeded`",
            ],
            ["`limit` of a read", f"1 to {READ_LIMIT:,}", "`LimitExceeded`"],
            ["depth of nested JSON", f"{text._DEEPEST:,} levels", "`LimitExceeded`"],
            ["`payload` of a job, as JSON", f"{PAYLOAD_LIMIT:,} bytes of UTF-8", "`LimitExceeded`"],
        ),
    )


SECTIONS: dict[tuple[str, str], Callable[[], str]] = {
    ("explanation/storage.md", "settings"): settings_table,
    ("reference/errors.md", "errors"): errors_tree,
    ("how-to/conversations.md", "limits"): limits_table,
    ("reference/cli.md", "exits"): commands.exits_table,
    ("reference/cli.md", "commands"): commands.reference,
}


def pages() -> Iterator[tuple[Path, str]]:
    """Each page that is written here, with the text it should have."""
    yield DOCS / "reference" / "operations.md", operations_page()
    for name in dict.fromkeys(name for name, _ in SECTIONS):
        page = (DOCS / name).read_text("utf-8")
        for (of, section), written in SECTIONS.items():
            page = between_markers(page, section, written()) if of == name else page
        yield DOCS / name, page


def between_markers(page: str, section: str, written: str) -> str:
    begin, end = f"<!-- {section}: written by tools/docs.py -->", f"<!-- end of {section} -->"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise SystemExit(f"There is no place for {section}: {begin} … {end}")
    return f"{before}{begin}\n\n{written}\n\n{end}{after}"


# --- Markdown ---------------------------------------------------------------------------------


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    heads = list(heads)
    return "\n".join([line(heads), line("---" for _ in heads), *(line(row) for row in rows)])


def slug(heading: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def parameters(method: Callable[..., Any]) -> list[inspect.Parameter]:
    # The annotations stay as they are written in the source: short names, explained once.
    return [each for each in inspect.signature(method).parameters.values() if each.name != "self"]


def signature_block(name: str, method: Callable[..., Any]) -> str:
    written = [written_parameter(each) for each in parameters(method)]
    kinds = [each.kind for each in parameters(method)]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        written.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    returns = inspect.signature(method).return_annotation
    whole = f"{name}({', '.join(written)}) -> {returns}"
    if len(whole) > WIDTH:
        lines = "".join(f"    {each},\n" for each in written)
        whole = f"{name}(\n{lines}) -> {returns}"
    return f"```text\n{whole}\n```"


def written_parameter(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    default = "" if parameter.default is parameter.empty else f" = {written_default(parameter.default)}"
    return f"{stars}{parameter.name}: {parameter.annotation}{default}"


def written_default(default: Any) -> str:
    return default.__name__ if inspect.isfunction(default) else repr(default)


def docstring(method: Callable[..., Any]) -> Iterator[str]:
    for paragraph in (inspect.getdoc(method) or "").split("\n\n"):
        yield paragraph.replace("\n", " ")


def one_of(choice: Any) -> str:
    return " or ".join(f"`{each}`" for each in get_args(choice))


def attribute_docstrings(owner: type) -> dict[str, str]:
    """The texts that stand under the attributes of a class in its source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for statement, following in zip(tree.body, tree.body[1:], strict=False):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = " ".join(words.split())
    return found


def main(arguments: list[str]) -> int:
    stale = [(path, page) for path, page in pages() if not path.exists() or path.read_text("utf-8") != page]
    if "--check" in arguments:
        for path, _ in stale:
            print(f"docs/{path.relative_to(DOCS).as_posix()} is not current: run python -m tools.docs", file=sys.stderr)
        return 1 if stale else 0
    for path, page in stale:
        path.write_text(page, "utf-8")
        print(f"docs/{path.relative_to(DOCS).as_posix()} written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
