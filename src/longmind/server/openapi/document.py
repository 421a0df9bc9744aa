"""The description of the server for machines, made of the routes and the signatures behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from longmind.models.value import Value
from longmind.server.http.archive_download import ZIP
from longmind.server.http.parameters import Parameters
from longmind.server.http.preconditions import ENTITY_TAG, kept_as
from longmind.server.http.responses import Answer
from longmind.server.openapi.examples import EXAMPLES
from longmind.server.problems import PROBLEM_TYPE
from longmind.server.routes import Route
from longmind.server.streaming import EVENT_STREAM
from longmind.tools.schema import build_json_schema
from longmind.tools.tool_handlers import TOOLS
from longmind.validation.annotated import Label, find_limits

Schema = dict[str, Any]

_TEXT_KEYWORDS = frozenset({"minLength", "maxLength", "pattern", "format"})
_IN_HEADER = {
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
}
"""A text in a header: control characters are refused there, some of them before they are read."""
_REFERENCE = "#/components/schemas/{model}"
_WHEN = {
    400: "The request is malformed.",
    401: "There is no valid credential.",
    403: "The credential does not allow this.",
    404: "It is not there, or somebody else's: the answer is the same.",
    408: "The body did not come in time.",
    409: "The state of things does not allow it, or an idempotency key came with another body.",
    412: "The block is not the one that If-Match names.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A size or a count is over its limit, or it was not said which version is meant.",
    429: "Too many requests, or a quota is used up; Retry-After says how long to wait.",
    500: "A fault of the server.",
    502: "A model gave no answer, or one that cannot be used.",
    503: "The database or a model cannot be reached now; Retry-After says how long to wait.",
    504: "It took longer than a request may, or the database was lost meanwhile: it may have been done.",
    507: "There is no room left on the disk.",
}
_OF_ALL = (400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 502, 503, 504)
"""A body may be sent where none is wanted, and is refused there like any other: for its size, its time, its type."""
_CREDENTIAL = (
    "A key made by `longmind keys create`, which may be sent as X-API-Key too, or a JWT where those are configured. "
    "With a key that is for any user, the header X-Longmind-User says for whom a request is."
)
_OF_WRITES = (409, 507)
_TAGS = {
    "conversations": "Append-only conversations, and turns that a model answers.",
    "memory": "Spaces, atoms, entities, bindings and the three recalls.",
    "working_context": "A prompt that remembers, within a token budget.",
    "blocks": "Core and archival documents, replaced by compare-and-set.",
    "tools": "The memory tools of an agent.",
    "jobs": "Work that is queued.",
    "events": "The event log.",
    "admin": "Export and erasure.",
}


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    model_config = ConfigDict(extra="allow")

    type: str
    """A name of this kind of error that does not change."""
    title: str
    status: int
    detail: str
    hint: str


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """The whole description, OpenAPI 3.1."""
    described = [_Described(route) for route in routes]
    schemas = _Schemas(described)
    paths: dict[str, dict[str, Any]] = {}
    for each in described:
        paths.setdefault(each.route.place.path, {})[each.route.place.method.lower()] = each.operation(schemas)
    used = {each.route.operation.service for each in described}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Longmind",
            "version": version("longmind"),
            "description": "A memory engine for AI agents. Whose memory is meant is told by the credential alone.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "tags": [{"name": name, "description": words} for name, words in _TAGS.items() if name in used],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": {_response_name(status): _problem_response(status) for status in _WHEN},
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": _CREDENTIAL,
                }
            },
        },
    }


class _Described:
    """One route, with what its description is made of."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.parameters = Parameters(route)
        self.answer = Answer(route)
        parameters = route.operation.signature.parameters
        self.annotations = {route.outer_name(name): each.annotation for name, each in parameters.items()}
        """The types of the parameters, by the names that requests give them."""

    def operation(self, schemas: _Schemas) -> dict[str, Any]:
        route = self.route
        words = (route.operation.method.__doc__ or "").split("\n\n", 1)
        described: dict[str, Any] = {
            "operationId": route.id,
            "tags": [route.operation.service],
            "summary": route.operation.summary,
        }
        if len(words) > 1:
            described["description"] = " ".join(words[1].split())
        if parameters := [*self._in_path(), *self._in_query(schemas), *self._in_headers()]:
            described["parameters"] = parameters
        if self.parameters.body is not None:
            described["requestBody"] = {
                "required": self.parameters.body_required,
                "content": {
                    "application/json": {
                        "schema": schemas.of_body(self),
                        "example": EXAMPLES[route.operation.path].get("body", {}),
                    }
                },
            }
        described["responses"] = {str(self.answer.status): self._success(schemas), **self._problems()}
        return described

    def _in_path(self) -> list[dict[str, Any]]:
        examples = EXAMPLES[self.route.operation.path].get("path", {})
        return [
            {
                "name": outer,
                "in": "path",
                "required": True,
                "schema": _limit(_plain(TypeAdapter(annotation).json_schema()), annotation),
                "example": examples[outer],
            }
            for outer, inner in self.route.in_path.items()
            for annotation in [self.parameters.in_path[inner].annotation]
        ]

    def _in_query(self, schemas: _Schemas) -> list[dict[str, Any]]:
        schema = schemas.of_query(self)
        required = schema.get("required", [])
        examples = EXAMPLES[self.route.operation.path].get("query", {})
        return [
            {"name": name, "in": "query", "schema": _in_a_query(part)}
            | ({"required": True} if name in required else {})
            | ({"example": examples[name]} if name in examples else {})
            for name, part in schema.get("properties", {}).items()
        ]

    def _in_headers(self) -> list[dict[str, Any]]:
        headers = []
        if kept_as(self.route) is not None:
            words = "A key of the client's own: a request that is repeated with it and the same body is done once."
            key = {**_limit({"type": "string"}, Label), **_IN_HEADER}
            headers.append({"name": "Idempotency-Key", "in": "header", "description": words, "schema": key})
        if self.guarded:
            tag = {"type": "string", "pattern": ENTITY_TAG}
            words = "The ETag that was read, in the place of expected_updated_at."
            headers.append({"name": "If-Match", "in": "header", "description": words, "schema": tag})
            if self.route.has_body:
                words = "`*` says that there must not be a block yet, as null for expected_updated_at does."
                none = {"type": "string", "enum": ["*"]}
                headers.append({"name": "If-None-Match", "in": "header", "description": words, "schema": none})
        return headers

    @property
    def guarded(self) -> bool:
        return "expected_updated_at" in self.route.operation.signature.parameters

    def _success(self, schemas: _Schemas) -> dict[str, Any]:
        said = {"description": HTTPStatus(self.answer.status).phrase}
        if self.answer.nothing:
            return said
        if self.route.operation.path == "admin.export_user_archive":
            return {**said, "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}
        content: dict[str, Any] = {"application/json": {"schema": schemas.of_answer(self)}}
        if self.route.id == "runTurn":
            words = (
                "Events `text` with a piece of the answer, then `result` with the result, or `error` with a problem."
            )
            content[EVENT_STREAM] = {"schema": {"type": "string", "description": words}}
        answer: dict[str, Any] = {**said, "content": content}
        if self.route.place.of_block and not self.answer.is_list:
            answer["headers"] = {"ETag": {"description": "For If-Match.", "schema": {"type": "string"}}}
        return answer

    def _problems(self) -> dict[str, Any]:
        statuses = set(_OF_ALL)
        if self.route.operation.access == "write" or self.route.place.tool is not None:
            statuses |= set(_OF_WRITES)
        if self.guarded:
            statuses.add(412)
        return {
            str(status): {"$ref": f"#/components/responses/{_response_name(status)}"} for status in sorted(statuses)
        }


class _Schemas:
    """The schemas of all that is sent, made together so that the same thing has one name."""

    def __init__(self, described: list[_Described]) -> None:
        asked: list[tuple[str, Any, TypeAdapter[Any]]] = [("problem", "serialization", TypeAdapter(Problem))]
        for each in described:
            asked.append((f"query {each.route.id}", "validation", TypeAdapter(each.parameters.query_model)))
            if each.parameters.body is not None:
                asked.append((f"body {each.route.id}", "validation", each.parameters.body))
            if not each.answer.nothing:
                asked.append((f"answer {each.route.id}", "serialization", TypeAdapter(each.answer.schema_of)))
        made, definitions = TypeAdapter.json_schemas(asked, ref_template=_REFERENCE)
        self._made: dict[str, Schema] = {key: _plain(schema) for (key, _), schema in made.items()}
        components: dict[str, Schema] = {
            name: _in_snake_case(name, _plain(schema)) for name, schema in definitions.get("$defs", {}).items()
        }
        self._own = {name: schema for name, schema in components.items() if name.endswith(("Body", "Query"))}
        inputs = _reached([schema for key, schema in self._made.items() if key.startswith("body")], components)
        self.components = {
            name: _limit_value(name, schema) if name in inputs else schema
            for name, schema in sorted(components.items())
            if not name.endswith("Query")
        }

    def of_query(self, each: _Described) -> Schema:
        schema = self._resolved(self._made[f"query {each.route.id}"])
        return _limit_fields(schema, each.annotations)

    def of_body(self, each: _Described) -> Schema:
        if each.route.place.tool is not None:
            return build_json_schema(TOOLS[each.route.place.tool].takes)
        schema = self._made[f"body {each.route.id}"]
        name = schema.get("$ref", "").rpartition("/")[2]
        if name.endswith("Body"):
            self.components[name] = _limit_fields(self._own[name], each.annotations)
            return schema
        return schema

    def of_answer(self, each: _Described) -> Schema:
        schema = self._made[f"answer {each.route.id}"]
        if not each.answer.is_list or each.answer.bare:
            return schema
        properties: Schema = {"items": schema}
        if each.answer.paged:
            words = "Pass it as `cursor` for what comes after; null is the end."
            properties["nextCursor"] = {"type": ["string", "null"], "description": words}
        return {"type": "object", "properties": properties, "required": list(properties)}

    def _resolved(self, schema: Schema) -> Schema:
        name = schema.get("$ref", "").rpartition("/")[2]
        return self._own[name] if name else schema


def _all_values(value: type[Value] = Value) -> dict[str, type[Value]]:
    """The values there are, by their names."""
    found = {value.__name__: value}
    for each in value.__subclasses__():
        found |= _all_values(each)
    return found


def _in_snake_case(name: str, schema: Schema) -> Schema:
    """The schema of a value whose JSON has the names of its attributes, which pydantic does not tell by itself."""
    value = _all_values().get(name.partition("-")[0])
    if value is None or value.model_config.get("serialize_by_alias", True):
        return schema
    inner = {field.alias or name: name for name, field in value.model_fields.items()}
    renamed = {**schema, "properties": {inner[outer]: part for outer, part in schema["properties"].items()}}
    return renamed | ({"required": [inner[outer] for outer in schema["required"]]} if "required" in schema else {})


def _limit_value(name: str, schema: Schema) -> Schema:
    """Return the schema of a value with the limits that its fields' types name."""
    value = _all_values().get(name.partition("-")[0])
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


def _limit(schema: Schema, annotation: Any) -> Schema:
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


def _reached(schemas: list[Schema], components: dict[str, Schema]) -> set[str]:
    """The names of all schemas that these lead to."""
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


def _plain(schema: Any) -> Any:
    """A schema without the titles that only repeat the names of its parts."""
    match schema:
        case dict():
            return {
                name: {key: _plain(each) for key, each in part.items()} if name == "properties" else _plain(part)
                for name, part in schema.items()
                if not (name == "title" and isinstance(part, str))
            }
        case list():
            return [_plain(each) for each in schema]
        case _:
            return schema


def _in_a_query(schema: Schema) -> Schema:
    """What can stand in a query. Leaving a parameter out says the same as null, unless something else is usual."""
    usual = schema.get("default")
    kept = next(each for each in schema.get("anyOf", [schema]) if each.get("type") != "null")
    if usual is not None and len(schema.get("anyOf", ())) > 1 and "enum" in kept:
        kept = {**kept, "enum": [*kept["enum"], "null"]}
    plain = {name: part for name, part in kept.items() if name != "default"}
    return plain if usual is None else {**plain, "default": usual}


def _response_name(status: int) -> str:
    return HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "")


def _problem_response(status: int) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": _WHEN[status],
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status in (429, 503):
        response["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "string"}}}
    return response
