"""`longmind tool`: call a memory tool, exactly as an agent does with `ipc`.

Arguments are one JSON object, or keywords such as `content="Uses tabs"`, which are easier to type.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from longmind.cli.ipc import SCOPE_NAMES, run_tool
from longmind.cli.options import Agent, App, Group, Session, Tenant, Url, User
from longmind.cli.output import AsJson
from longmind.errors import InvalidInput
from longmind.tools.invocation import TOPIC
from longmind.tools.tool_handlers import TOOLS


def tool(
    name: Annotated[str, typer.Argument(help=f"The tool: {', '.join(TOOLS)}.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help='A JSON object, or keywords: type=fact content="Uses tabs" tags=a,b')
    ] = None,
    tenant: Tenant = None,
    app: App = None,
    user: User = None,
    agent: Agent = None,
    group: Group = None,
    session: Session = None,
    url: Url = None,
    as_json: AsJson = True,
) -> None:
    """Call a memory tool as `ipc` does: the answer is JSON, and so is an error, with exit code 1."""
    options = dict(zip(SCOPE_NAMES, (tenant, app, user, agent, group, session), strict=True))
    known = name.removeprefix(TOPIC)
    run_tool(f"{TOPIC}{known}", _to_json(known, arguments or []), url, options)


def _to_json(name: str, given: list[str]) -> str:
    """Return the arguments of a tool as one JSON object. An object is passed on as it is."""
    # An object is passed on unread, so that ipc and this command refuse the same.
    if len(given) == 1 and given[0].lstrip().startswith("{"):
        return given[0]
    values: dict[str, Any] = {}
    for each in given:
        key, separator, value = each.partition("=")
        if not separator or not key:
            raise InvalidInput(
                f"{each!r} is neither a JSON object nor a keyword.",
                hint='Write name=value, such as content="Uses tabs", or one object in single quotes.',
            )
        if key in values:
            raise InvalidInput(f"{key} is given twice.", hint="Separate the members of a list by commas: tags=a,b.")
        values[key] = _to_value(_list_types(name, key), value)
    return json.dumps(values)


def _to_value(types: set[str], value: str) -> Any:
    """Return the value of a keyword: texts as they are, lists also with commas, the rest as JSON."""
    if "string" in types and value != "null":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        # The tool refuses what it does not take, and says why.
        return value.split(",") if "array" in types else value


def _list_types(name: str, key: str) -> set[str]:
    """Return the JSON types that an argument of a tool may have; none for one that the tool does not know."""
    tool = TOOLS.get(name)
    schema = {} if tool is None else tool.takes.model_json_schema().get("properties", {}).get(key, {})
    return {each["type"] for each in (schema, *schema.get("anyOf", ())) if "type" in each}
