"""Write the parts of the documentation that the code already says.

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
from longmind.engine import Engine
from longmind.jobs.service import PAYLOAD_LIMIT
from longmind.maintenance import Maintenance
from longmind.models import change, content, conversation, job, message, tool, turn
from longmind.models.value import Value
from longmind.operations import OPERATIONS, Operation
from longmind.scope import IDENTITY_LIMIT, Capability
from longmind.settings import Settings
from longmind.validation import parameter_limits, text
from longmind.validation.identifiers import METADATA_LIMIT
from longmind.validation.parameter_limits import LIMIT, TITLE
from tools import commands

DOCS = Path(__file__).parent.parent / "docs"

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
    message.GivenMessage,
    message.AppendedMessages,
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
    """Return the reference: every operation, the engine's own methods, and the values they exchange."""
    services = list(dict.fromkeys(operation.service for operation in OPERATIONS))
    parts = [
        "# Operations",
        "`python -m tools.docs` writes this page from the code. Each line has a signature and the first sentence of the"
        " docstring; `help()` has the rest, and [openapi.json](../openapi.json) the shapes of requests and answers."
        " The [how-to guides](../index.md) show the operations at work.",
        "An operation belongs to a service of a context, and a context to one user:"
        " `ctx.conversations.get_messages(…)`. The [asynchronous engine](../how-to/async.md) has the same operations to"
        " await. An operation marked *writes* changes the database. `= None` marks an optional parameter; its type is"
        " shown without `| None`.",
    ]
    for service in services:
        parts.append(f"## {service}")
        parts.append("\n".join(operation_line(each) for each in OPERATIONS if each.service == service))
    parts += ["## The engine", "Methods for the host; none of them belongs to one user."]
    parts.append("\n".join(method_line(name, method) for name, method in engine_methods()))
    parts += ["## Names in the signatures", names_list()]
    parts += [
        "## Values",
        "Frozen models, listed with their Python names; `model_dump_json()` writes camelCase names for conversations,"
        " memory and jobs. Input may use either form.",
    ]
    parts.append("\n".join(value_line(value) for value in VALUES))
    return "\n\n".join(parts) + "\n"


def operation_line(operation: Operation) -> str:
    notes = [f" Needs the capability `{operation.needs}`."] if operation.needs else []
    notes += [" *Writes.*"] if operation.access == "write" else []
    return f"{method_line(operation.name, operation.method)}{''.join(notes)}"


def method_line(name: str, method: Callable[..., Any]) -> str:
    return f"- `{signature(name, method)}`: {first_sentence(method)}"


def engine_methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    yield "longmind.open", longmind.open
    for name, method in (*vars(Engine).items(), *vars(Maintenance).items()):
        # renew_after_fork is called by Python itself.
        if inspect.isfunction(method) and not name.startswith("_") and name != "renew_after_fork":
            yield f"engine.{name}", method


def names_list() -> str:
    meanings = {name: list_choices(choice) for name, choice in CHOICES.items()} | {
        "Content": "a text, or a list of blocks as values or dicts",
        "Instant": "an ISO 8601 text or a `datetime`; UTC unless it names a zone",
        "Page[…]": "a list with `next_cursor`; pass it as `cursor` for the next page, `None` is the end",
        "Subscriber": "a function of a `Change`",
        "Handler": "a function of a `JobRun` that returns a JSON value or an `Effect`",
        "Confirm": "a function that asks the user a question and returns the answer as a bool",
        "Capability": list_choices(Capability),
        "LanguageModel": "an object with `name` and `ask(request, on_text=…, cancel=…)`",
        "Tool`, `BoundTool": "a tool as a model sees it, without or with the function that runs it",
        "ToolHandler": "a function of a tool's name and arguments that returns its result",
        "OnText": "a function that receives each piece of an answer's text",
        "Cancel": "an object whose `cancel()` ends the calls that received it, from any thread",
        "Clock": "a function that returns microseconds since 1970 UTC",
    }
    same: dict[str, list[str]] = {}
    for name, alias in vars(parameter_limits).items():
        limits = parameter_limits.find_limits(alias)
        if limits is not None:
            kind = alias.__origin__.__name__ if isinstance(alias.__origin__, type) else "float"
            same.setdefault(", ".join(filter(None, (f"`{kind}`", limits.words))), []).append(name)
    meanings |= {"`, `".join(names): meaning for meaning, names in same.items()}
    return "\n".join(f"- `{name}`: {meaning}" for name, meaning in meanings.items())


def value_line(value: type[Value]) -> str:
    fields = ", ".join(f"`{name}`" for name in value.model_fields)
    return f"- `{value.__name__}`: {fields}"


def settings_list() -> str:
    notes = attribute_docstrings(Settings)
    return "\n".join(
        f"- `{each.name}`, `LONGMIND_{each.name.upper()}` (`{each.default!r}`): {notes[each.name]}"
        for each in dataclasses.fields(Settings)
    )


def errors_tree() -> str:
    drawn = (errors.__doc__ or "").split("\n\n")[1]
    return f"```text\n{textwrap.dedent(drawn)}\n```"


def limits_table() -> str:
    return table(
        ("what", "limit", "beyond it"),
        (
            ["content of one message, as JSON", f"{content.MESSAGE_LIMIT:,} bytes of UTF-8", "`LimitExceeded`"],
            ["`metadata`, as JSON", f"{METADATA_LIMIT:,} bytes of UTF-8", "`LimitExceeded`"],
            ["`title`", f"{TITLE.most:,} characters", "`LimitExceeded`"],
            ["`namespace`, `session_id`", f"{IDENTITY_LIMIT:,} characters, not blank, not `*`", "`InvalidInput`"],
            [
                "`idempotency_key`, `trace_id`, `tool_use_id`, `tool_name`, `model`, `provider`, `stop_reason`",
                f"{IDENTITY_LIMIT:,} characters, not blank",
                "`LimitExceeded`",
            ],
            ["`limit` of a read", f"1 to {LIMIT.most:,}", "`LimitExceeded`"],
            ["depth of nested JSON", f"{text._DEEPEST:,} levels", "`LimitExceeded`"],
            ["`payload` of a job, as JSON", f"{PAYLOAD_LIMIT:,} bytes of UTF-8", "`LimitExceeded`"],
        ),
    )


SECTIONS: dict[tuple[str, str], Callable[[], str]] = {
    ("reference/settings.md", "settings"): settings_list,
    ("reference/errors.md", "errors"): errors_tree,
    ("how-to/conversations.md", "limits"): limits_table,
    ("reference/cli.md", "exits"): commands.exits_table,
    ("reference/cli.md", "commands"): commands.reference,
}


def current_pages() -> Iterator[tuple[Path, str]]:
    """Yield each generated page with the text that it should have."""
    yield DOCS / "reference" / "operations.md", operations_page()
    for name in dict.fromkeys(name for name, _ in SECTIONS):
        page = (DOCS / name).read_text("utf-8")
        for (of, section), written in SECTIONS.items():
            page = replace_section(page, section, written()) if of == name else page
        yield DOCS / name, page


def replace_section(page: str, section: str, written: str) -> str:
    begin, end = f"<!-- {section}: written by tools/docs.py -->", f"<!-- end of {section} -->"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise SystemExit(f"The page has no markers for {section}: {begin} … {end}")
    return f"{before}{begin}\n\n{written}\n\n{end}{after}"


# --- Markdown ---------------------------------------------------------------------------------


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    heads = list(heads)
    return "\n".join([line(heads), line("---" for _ in heads), *(line(row) for row in rows)])


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def parameters(method: Callable[..., Any]) -> list[inspect.Parameter]:
    # The annotations stay as they are written in the source: short names, explained once.
    return [each for each in inspect.signature(method).parameters.values() if each.name != "self"]


def signature(name: str, method: Callable[..., Any]) -> str:
    written = [format_parameter(each) for each in parameters(method)]
    kinds = [each.kind for each in parameters(method)]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        written.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return f"{name}({', '.join(written)}) -> {inspect.signature(method).return_annotation}"


def format_parameter(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    default = "" if parameter.default is parameter.empty else f" = {format_default(parameter.default)}"
    annotation = str(parameter.annotation)
    if parameter.default is None:
        annotation = annotation.removesuffix(" | None")
    return f"{stars}{parameter.name}: {annotation}{default}"


def format_default(default: Any) -> str:
    return default.__name__ if inspect.isfunction(default) else repr(default)


def first_sentence(method: Callable[..., Any]) -> str:
    paragraph = (inspect.getdoc(method) or "").partition("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=\.) (?=[A-Z`])", paragraph, maxsplit=1)[0]


def list_choices(choice: Any) -> str:
    return ", ".join(f"`{each}`" for each in get_args(choice))


def attribute_docstrings(owner: type) -> dict[str, str]:
    """Return the docstrings under the attributes of a class, by attribute."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for statement, following in zip(tree.body, tree.body[1:], strict=False):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = " ".join(words.split())
    return found


def main(arguments: list[str]) -> int:
    stale = [(path, page) for path, page in current_pages() if not path.exists() or path.read_text("utf-8") != page]
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
