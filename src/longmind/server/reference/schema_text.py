"""Types of JSON schemas in words, as HTML with links to the pages of the shapes that they name.

Only what occurs in our own document is described: references, alternatives, literals, lists, texts with limits,
numbers with limits, and objects. The page of a shape has its whole schema, with all that the words leave out.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any
from urllib.parse import quote

Schema = dict[str, Any]

_PREFIX = "#/components/schemas/"
_CODE = re.compile("`([^`]+)`")
_ANY_TEXT = r"^[^\u0000]*$"
"""The pattern of a text that may hold anything but U+0000, which is not worth a word."""


def format_text(text: str) -> str:
    """Return prose as HTML, with the words between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def format_json(value: Any) -> str:
    """Return a value as indented JSON; the templates escape it."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def describe_type(schema: Schema) -> str:
    """Return the type of a value in words, with its limits, as HTML.

    Everything that comes from the schema is escaped here, since the templates take the result as it is.
    """
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_PREFIX)
        return f'<a href="/docs/schemas/{quote(name, safe="")}">{escape(name)}</a>'
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        names = list(dict.fromkeys(describe_type(each) for each in alternatives if each.get("type") != "null"))
        return " or ".join(names) + (", or null" if len(names) < len(alternatives) else "")
    if "const" in schema:
        return _format_literal(schema["const"])
    if "enum" in schema:
        return " or ".join(map(_format_literal, schema["enum"]))
    kinds = schema.get("type", "any JSON")
    if isinstance(kinds, list):
        return " or ".join(describe_type({**schema, "type": kind}) for kind in kinds)
    if kinds == "array":
        items = describe_type(schema["items"]) if schema.get("items") else "any JSON"
        return " ".join(filter(None, [f"list of {items}", _format_range(schema, "minItems", "maxItems", "members")]))
    if kinds == "string":
        limits = [_format_range(schema, "minLength", "maxLength", "characters"), schema.get("format", "")]
        pattern = schema.get("pattern", _ANY_TEXT)
        limits.append(f"matching <code>{escape(pattern)}</code>" if pattern != _ANY_TEXT else "")
        return ", ".join(filter(None, ["text", *limits]))
    if kinds in ("integer", "number"):
        word = "whole number" if kinds == "integer" else "number"
        return " ".join(filter(None, [word, _format_range(schema, "minimum", "maximum", "")]))
    return "true or false" if kinds == "boolean" else str(kinds)


def list_fields(schema: Schema) -> list[dict[str, Any]]:
    """Return the fields of an object for a template, the required ones first."""
    required = schema.get("required", [])
    fields = [_describe_field(name, part, name in required) for name, part in schema.get("properties", {}).items()]
    return sorted(fields, key=lambda field: not field["required"])


def _describe_field(name: str, schema: Schema, required: bool) -> dict[str, Any]:
    default = schema.get("default")
    return {
        "name": name,
        "type": describe_type(schema),
        "required": required,
        "default": None if default is None else json.dumps(default, ensure_ascii=False),
        "text": format_text(schema.get("description", "")),
    }


def _format_literal(value: Any) -> str:
    return f"<code>{escape(json.dumps(value, ensure_ascii=False))}</code>"


def _format_range(schema: Schema, least_name: str, most_name: str, unit: str) -> str:
    least, most = schema.get(least_name), schema.get(most_name)
    numbers = {
        (True, True): f"from {least:,} to {most:,}" if least is not None and most is not None else "",
        (True, False): f"from {least:,}" if least is not None else "",
        (False, True): f"up to {most:,}" if most is not None else "",
        (False, False): "",
    }[least is not None, most is not None]
    return f"{numbers} {unit}".strip() if numbers else ""
