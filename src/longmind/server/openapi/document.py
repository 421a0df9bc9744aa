"""The OpenAPI document, derived from the routes and the signatures of their operations.

Component names are public: generated clients name their classes after them. All schemas are built in one pydantic call,
so that a type that several operations use has one component. Limits come from the annotations of the signatures.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from longmind.models.value import Value
from longmind.server.http.archive_download import ZIP
from longmind.server.http.parameters import CHOOSING_PARAMETERS, ArgumentReader
from longmind.server.http.preconditions import ENTITY_TAG, find_key_parameter
from longmind.server.http.responses import ResultWriter
from longmind.server.openapi.examples import EXAMPLES
from longmind.server.openapi.parameter_notes import split_notes
from longmind.server.problems import PROBLEM_TYPE
from longmind.server.routes import Route
from longmind.server.streaming import EVENT_STREAM
from longmind.tools.schema import build_json_schema
from longmind.tools.tool_handlers import TOOLS
from longmind.validation.parameter_limits import Label, find_limits

Schema = dict[str, Any]

_TEXT_KEYWORDS = frozenset({"minLength", "maxLength", "pattern", "format"})
_IN_HEADER = {
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
}
"""The schema of a text in a header, where control characters are refused, some of them by the HTTP parser."""
_REFERENCE = "#/components/schemas/{model}"
_DESCRIPTIONS = {
    400: "The request is malformed.",
    401: "The request has no valid credential.",
    403: "The credential does not allow this operation.",
    404: "The resource does not exist or belongs to another user; the response is the same.",
    408: "The request body did not arrive in time.",
    409: "The current state does not allow the operation, or an idempotency key was used with another body.",
    412: "The block is not the version that If-Match names.",
    413: "The request body is too large.",
    415: "The request body is not JSON.",
    422: "A size or count exceeds its limit, or the request does not say which version to replace.",
    429: "The rate limit or a quota is exhausted; Retry-After says how long to wait.",
    500: "The server failed.",
    502: "A model returned no answer, or one that cannot be used.",
    503: "The database or a model cannot be reached; Retry-After says how long to wait.",
    504: "The operation took too long, or the database connection was lost; the operation may have been done.",
    507: "The disk is full.",
}
_COMMON_STATUSES = (400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 502, 503, 504)
"""Statuses of all operations. Those about bodies apply everywhere, since any request may carry a body."""
_WRITE_STATUSES = (409, 507)
_CREDENTIAL = (
    "An API key made by `longmind keys create`, or a JWT if the server accepts them. X-API-Key carries a key too. "
    "With a key for any user, the header X-Longmind-User names the user of a request."
)
_TAGS = {
    "front_door": "Memory in a few calls, with a default for everything else: the methods of `longmind.Memory`.",
    "conversations": "Append-only conversations, and turns that a model answers.",
    "memory": "Spaces, atoms, entities, bindings and the three kinds of recall.",
    "working_context": "A prompt with memory, within a token budget.",
    "blocks": "Core and archival documents, replaced by compare-and-set.",
    "tools": "The memory tools of an agent.",
    "agents": "Agents of the app, defined as JSON.",
    "jobs": "Background jobs.",
    "events": "The event log.",
    "admin": "Export and erasure.",
}


class Problem(BaseModel):
    """An error, with a hint what to do."""

    model_config = ConfigDict(extra="allow")

    type: str
    """A stable name of this kind of error."""
    title: str
    status: int
    detail: str
    hint: str


def describe_api(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the document of all routes, in OpenAPI 3.1."""
    descriptions = [_RouteDescription(route) for route in routes]
    schemas = _Schemas(descriptions)
    paths: dict[str, dict[str, Any]] = {}
    for each in descriptions:
        paths.setdefault(each.route.http.path, {})[each.route.http.method.lower()] = each.describe(schemas)
    used = {each.route.operation.service for each in descriptions}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Longmind",
            "version": version("longmind"),
            "description": "Long-term memory for AI agents. The credential alone decides whose memory a request sees.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items() if name in used],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": {_name_response(status): _describe_problem_response(status) for status in _DESCRIPTIONS},
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": _CREDENTIAL,
                }
            },
        },
    }


class _RouteDescription:
    """The description of one route."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.arguments = ArgumentReader(route)
        self.result = ResultWriter(route)
        parameters = route.operation.signature.parameters
        self.annotations = {route.to_wire_name(name): each.annotation for name, each in parameters.items()}
        """The types of the parameters, by their names in requests."""
        self.annotations |= CHOOSING_PARAMETERS.get(route.operation.service, {})
        self._text, notes = split_notes(inspect.getdoc(route.operation.method) or "", parameters)
        self.notes = {route.to_wire_name(name): note for name, note in notes.items()}
        """The notes of the docstring on parameters, by their names in requests."""

    def describe(self, schemas: _Schemas) -> dict[str, Any]:
        """Return the operation object. Its texts are the docstring of the method behind it."""
        route = self.route
        description: dict[str, Any] = {
            "operationId": route.id,
            "tags": [route.operation.service],
            "summary": route.operation.summary,
        }
        if self._text:
            description["description"] = self._text
        if parameters := [*self._describe_path(), *self._describe_query(schemas), *self._describe_headers()]:
            description["parameters"] = parameters
        if self.arguments.body is not None:
            description["requestBody"] = {
                "required": self.arguments.body_required,
                "content": {
                    "application/json": {
                        "schema": schemas.get_body(self),
                        "example": EXAMPLES[route.operation.path].get("body", {}),
                    }
                },
            }
        description["responses"] = {
            str(self.result.status): self._describe_success(schemas),
            **self._describe_problems(),
        }
        return description

    def _describe_path(self) -> list[dict[str, Any]]:
        """Return the path parameters; the generator of requests in the tests needs their examples."""
        examples = EXAMPLES[self.route.operation.path].get("path", {})
        return [
            {
                "name": outer,
                "in": "path",
                "required": True,
                "schema": _limit(_strip_titles(TypeAdapter(annotation).json_schema()), annotation),
                "example": examples[outer],
            }
            | self._describe_note(outer)
            for outer, inner in self.route.in_path.items()
            for annotation in [self.arguments.in_path[inner].annotation]
        ]

    def _describe_note(self, name: str) -> dict[str, str]:
        return {"description": self.notes[name]} if name in self.notes else {}

    def _describe_query(self, schemas: _Schemas) -> list[dict[str, Any]]:
        schema = schemas.get_query(self)
        required = schema.get("required", [])
        examples = EXAMPLES[self.route.operation.path].get("query", {})
        return [
            {"name": name, "in": "query", **_describe_query_value(_to_query_schema(part))}
            | self._describe_note(name)
            | ({"required": True} if name in required else {})
            | ({"example": examples[name]} if name in examples else {})
            for name, part in schema.get("properties", {}).items()
        ]

    def _describe_headers(self) -> list[dict[str, Any]]:
        """Return the header parameters: Idempotency-Key, If-Match and If-None-Match where they apply."""
        headers = []
        if find_key_parameter(self.route) is not None:
            text = "A key that the client chooses: a request repeated with the same key and body is done once."
            key = {**_limit({"type": "string"}, Label), **_IN_HEADER}
            headers.append({"name": "Idempotency-Key", "in": "header", "description": text, "schema": key})
        if self.guarded:
            tag = {"type": "string", "pattern": ENTITY_TAG}
            text = "The ETag of the version to replace, instead of expected_updated_at."
            headers.append({"name": "If-Match", "in": "header", "description": text, "schema": tag})
            if self.route.has_body:
                text = "`*` requires that the block does not exist yet, like null for expected_updated_at."
                none = {"type": "string", "enum": ["*"]}
                headers.append({"name": "If-None-Match", "in": "header", "description": text, "schema": none})
        return headers

    @property
    def guarded(self) -> bool:
        """True if a precondition may guard the operation."""
        return "expected_updated_at" in self.route.operation.signature.parameters

    def _describe_success(self, schemas: _Schemas) -> dict[str, Any]:
        response = {"description": HTTPStatus(self.result.status).phrase}
        if self.result.is_empty:
            return response
        if self.route.operation.path == "admin.export_user_archive":
            return {**response, "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}
        content: dict[str, Any] = {"application/json": {"schema": schemas.get_result(self)}}
        if self.route.operation.path in ("conversations.run_turn", "agents.invoke"):
            text = "Events `text` with pieces of the answer, then one event: `result`, or `error` with a problem."
            content[EVENT_STREAM] = {"schema": {"type": "string", "description": text}}
        described: dict[str, Any] = {**response, "content": content}
        if self.route.http.of_block and not self.result.is_list:
            described["headers"] = {
                "ETag": {"description": "The version of the block, for If-Match.", "schema": {"type": "string"}}
            }
        return described

    def _describe_problems(self) -> dict[str, Any]:
        statuses = set(_COMMON_STATUSES)
        if self.route.operation.access == "write" or self.route.http.tool is not None:
            statuses |= set(_WRITE_STATUSES)
        if self.guarded:
            statuses.add(412)
        return {
            str(status): {"$ref": f"#/components/responses/{_name_response(status)}"} for status in sorted(statuses)
        }


class _Schemas:
    """The schemas of all queries, bodies and results, built together so that a shared type has one name."""

    def __init__(self, descriptions: list[_RouteDescription]) -> None:
        requested: list[tuple[str, Any, TypeAdapter[Any]]] = [("problem", "serialization", TypeAdapter(Problem))]
        for each in descriptions:
            requested.append((f"query {each.route.id}", "validation", TypeAdapter(each.arguments.query_model)))
            if each.arguments.body is not None:
                requested.append((f"body {each.route.id}", "validation", each.arguments.body))
            if not each.result.is_empty:
                requested.append((f"result {each.route.id}", "serialization", TypeAdapter(each.result.body_type)))
        schemas, definitions = TypeAdapter.json_schemas(requested, ref_template=_REFERENCE)
        self._schemas: dict[str, Schema] = {key: _strip_titles(schema) for (key, _), schema in schemas.items()}
        components: dict[str, Schema] = {
            name: _to_snake_case(name, _strip_titles(schema)) for name, schema in definitions.get("$defs", {}).items()
        }
        self._top_level = {name: schema for name, schema in components.items() if name.endswith(("Body", "Query"))}
        inputs = _find_referenced(
            [schema for key, schema in self._schemas.items() if key.startswith("body")], components
        )
        self.components = {
            name: _limit_value(name, schema) if name in inputs else schema
            for name, schema in sorted(components.items())
            if not name.endswith("Query")
        }

    def get_query(self, each: _RouteDescription) -> Schema:
        """Return the schema of an operation's query, as an object whose properties are the parameters."""
        schema = self._resolve(self._schemas[f"query {each.route.id}"])
        return _limit_fields(schema, each.annotations)

    def get_body(self, each: _RouteDescription) -> Schema:
        """Return the schema of an operation's body. A tool route shows the schema that a model would receive."""
        if each.route.http.tool is not None:
            return build_json_schema(TOOLS[each.route.http.tool].takes)
        schema = self._schemas[f"body {each.route.id}"]
        name = schema.get("$ref", "").rpartition("/")[2]
        if name.endswith("Body"):
            self.components[name] = _add_notes(_limit_fields(self._top_level[name], each.annotations), each.notes)
            return schema
        return schema

    def get_result(self, each: _RouteDescription) -> Schema:
        """Return the schema of an operation's result, with the object that wraps a list or page."""
        schema = self._schemas[f"result {each.route.id}"]
        if not each.result.is_list or each.result.is_bare:
            return schema
        properties: Schema = {"items": schema}
        if each.result.is_paged:
            text = "Pass it as `cursor` to get the next page; null on the last page."
            properties["nextCursor"] = {"type": ["string", "null"], "description": text}
        return {"type": "object", "properties": properties, "required": list(properties)}

    def _resolve(self, schema: Schema) -> Schema:
        name = schema.get("$ref", "").rpartition("/")[2]
        return self._top_level[name] if name else schema


def _find_values(value: type[Value] = Value) -> dict[str, type[Value]]:
    """Return all value classes by name."""
    found = {value.__name__: value}
    for each in value.__subclasses__():
        found |= _find_values(each)
    return found


def _to_snake_case(name: str, schema: Schema) -> Schema:
    """Return the schema of a value that is written with snake_case names, which pydantic's schema ignores."""
    value = _find_values().get(name.partition("-")[0])
    if value is None or value.model_config.get("serialize_by_alias", True):
        return schema
    inner = {field.alias or name: name for name, field in value.model_fields.items()}
    renamed = {**schema, "properties": {inner[outer]: part for outer, part in schema["properties"].items()}}
    return renamed | ({"required": [inner[outer] for outer in schema["required"]]} if "required" in schema else {})


def _limit_value(name: str, schema: Schema) -> Schema:
    """Return the schema of a value with the limits that its fields' types name."""
    value = _find_values().get(name.partition("-")[0])
    if value is None:
        return schema
    annotations: dict[str, Any] = {}
    for inner, field in value.model_fields.items():
        # pydantic keeps the notes of a field's own type apart from it.
        annotation = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        annotations |= {inner: annotation, field.alias or inner: annotation}
    return _limit_fields(schema, annotations)


def _limit_fields(schema: Schema, annotations: Mapping[str, Any]) -> Schema:
    """Return the schema of an object with the limits that the types of its fields name."""
    if "properties" not in schema:
        return schema
    parts = {name: _limit(part, annotations.get(name)) for name, part in schema["properties"].items()}
    return {**schema, "properties": parts}


def _add_notes(schema: Schema, notes: Mapping[str, str]) -> Schema:
    """Return the schema of an object with notes as the descriptions of its fields."""
    parts = {
        name: {**part, "description": notes[name]} if name in notes else part
        for name, part in schema["properties"].items()
    }
    return {**schema, "properties": parts}


def _limit(schema: Schema, annotation: Any) -> Schema:
    """Return a schema with the limits of an annotation, if it has any."""
    limits = find_limits(annotation)
    return schema if limits is None else _apply_limits(schema, limits.published)


def _apply_limits(schema: Schema, limits: Mapping[str, Any]) -> Schema:
    """Return the schema with those limits that apply to it: limits of texts, or of numbers."""
    if "anyOf" in schema:
        parts = [_apply_limits(each, limits) for each in schema["anyOf"]]
        # An instant may be given as a text or as a value, and both are written the same way.
        return {**schema, "anyOf": [each for at, each in enumerate(parts) if each not in parts[:at]]}
    if schema.get("type") == "array":
        return {**schema, "items": _apply_limits(schema["items"], limits)}
    if "enum" in schema or "const" in schema:
        return schema
    if schema.get("type") == "string":
        return {**schema, **{name: limit for name, limit in limits.items() if name in _TEXT_KEYWORDS}}
    if schema.get("type") in ("integer", "number"):
        return {**schema, **{name: limit for name, limit in limits.items() if name not in _TEXT_KEYWORDS}}
    return schema


def _find_referenced(schemas: list[Schema], components: dict[str, Schema]) -> set[str]:
    """Return the names of all components that these schemas refer to, directly or not."""
    found: set[str] = set()
    waiting: list[Any] = list(schemas)
    while waiting:
        match waiting.pop():
            case {"$ref": str(reference)}:
                name = reference.rpartition("/")[2]
                if name not in found:
                    found.add(name)
                    waiting.append(components[name])
            case dict() as schema:
                waiting += schema.values()
            case list() as members:
                waiting += members
    return found


def _strip_titles(schema: Any) -> Any:
    """Return a schema without titles, which only repeat the names of its parts."""
    match schema:
        case dict():
            return {
                name: {key: _strip_titles(each) for key, each in part.items()}
                if name == "properties"
                else _strip_titles(part)
                for name, part in schema.items()
                if not (name == "title" and isinstance(part, str))
            }
        case list():
            return [_strip_titles(each) for each in schema]
        case _:
            return schema


def _to_query_schema(schema: Schema) -> Schema:
    """Return the schema of a query parameter. A missing parameter means null unless it has a default."""
    default = schema.get("default")
    schema_of_value = next(each for each in schema.get("anyOf", [schema]) if each.get("type") != "null")
    if default is not None and len(schema.get("anyOf", ())) > 1 and "enum" in schema_of_value:
        schema_of_value = {**schema_of_value, "enum": [*schema_of_value["enum"], "null"]}
    plain = {name: part for name, part in schema_of_value.items() if name != "default"}
    return plain if default is None else {**plain, "default": default}


def _describe_query_value(schema: Schema) -> Schema:
    """Return the part of a parameter that says how its value is written: an object is written as JSON."""
    return (
        {"content": {"application/json": {"schema": schema}}} if schema.get("type") == "object" else {"schema": schema}
    )


def _name_response(status: int) -> str:
    return HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "")


def _describe_problem_response(status: int) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": _DESCRIPTIONS[status],
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status in (429, 503):
        response["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string"}}}
    return response
