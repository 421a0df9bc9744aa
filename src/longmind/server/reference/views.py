"""Data of the reference pages: the OpenAPI document, arranged for the templates."""

from __future__ import annotations

from functools import cached_property
from typing import Any
from urllib.parse import quote

from longmind.server.reference.curl_command import write_curl_command
from longmind.server.reference.schema_text import Schema, describe_type, format_json, format_text, list_fields

_PREFIX = "#/components/schemas/"
_PLACES = {"path": "Path", "query": "Query", "header": "Headers"}
_TITLES = {"front_door": "Memory in three lines"}
View = dict[str, Any]


class DocumentView:
    """The views of one OpenAPI document. Threads may share it.

    A view is a dict for a template. Its texts are plain and escaped by the template, except for summaries,
    descriptions and types, which are HTML already because they hold links and code.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self.version: str = document["info"]["version"]
        self._schemas: dict[str, Schema] = document["components"]["schemas"]
        self._operations: dict[str, tuple[str, str, dict[str, Any]]] = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }
        self._texts: dict[str, str] = {tag["name"]: tag["description"] for tag in document["tags"]}

    @cached_property
    def services(self) -> list[View]:
        """The services with their numbers of operations, in the order of the document."""
        tags = [operation["tags"][0] for _, _, operation in self._operations.values()]
        return [{"id": name, "name": _to_title(name), "count": tags.count(name)} for name in self._texts]

    def list_operations(self, query: str, *, with_key: bool) -> View:
        """Return the view of all operations, or of those that contain every word of a query."""
        # Every word has to occur, in any place and order.
        words = query.casefold().split()
        found = [id for id in self._operations if all(word in self._search_texts[id] for word in words)]
        groups = [
            {
                "id": name,
                "name": _to_title(name),
                "text": text,
                "operations": [self._view_line(id) for id in found if self._operations[id][2]["tags"] == [name]],
            }
            for name, text in self._texts.items()
        ]
        counted = "1 operation" if len(found) == 1 else f"{len(found)} operations"
        return {
            "searched": bool(words),
            "heading": f"{counted} for “{query}”",
            "about": self._document["info"]["description"],
            "with_key": with_key,
            "credential": format_text(self._document["components"]["securitySchemes"]["bearer"]["description"]),
            "groups": [group for group in groups if group["operations"]],
            "shapes": [] if words else [{"names": [{"name": name, "quoted": _quote(name)} for name in self._schemas]}],
        }

    def view_operation(self, id: str, address: str, *, with_key: bool) -> View | None:
        """Return the view of one operation, or None if there is none with this id."""
        if id not in self._operations:
            return None
        method, path, operation = self._operations[id]
        service = operation["tags"][0]
        answers = [self._view_answer(status, answer) for status, answer in operation["responses"].items()]
        return {
            **self._view_line(id),
            "service": _to_title(service),
            "service_id": service,
            "description": format_text(operation.get("description", "")),
            "places": self._list_parameters(operation),
            "body": self._view_body(operation),
            "command": write_curl_command(method, path, operation, address, with_key=with_key),
            "answers": [answer for answer in answers if answer["status"] < "400"],
            "errors": [answer for answer in answers if answer["status"] >= "400"],
            "answer_fields": self._list_answer_fields(operation),
        }

    def view_shape(self, name: str) -> View | None:
        """Return the view of a component of the document, or None if there is none of this name."""
        if name not in self._schemas:
            return None
        schema = self._schemas[name]
        users = [self._view_line(id) for id in self._operations if name in self._names_of(id)]
        fields = list_fields(schema)
        return {
            "name": name,
            "text": format_text(schema.get("description", "")),
            "type": describe_type(schema),
            "has_fields": bool(fields),
            "fields": fields,
            "is_used": bool(users),
            "users": users,
            "schema": format_json(schema),
        }

    @cached_property
    def _search_texts(self) -> dict[str, str]:
        return {
            id: " ".join(
                [method, path, id, operation["tags"][0], operation["summary"], operation.get("description", "")]
            ).casefold()
            for id, (method, path, operation) in self._operations.items()
        }

    def _view_line(self, id: str) -> View:
        method, path, operation = self._operations[id]
        return {"id": id, "method": method, "path": path, "summary": format_text(operation["summary"])}

    def _list_parameters(self, operation: dict[str, Any]) -> list[View]:
        groups = []
        for place, heading in _PLACES.items():
            listed = [each for each in operation.get("parameters", ()) if each["in"] == place]
            properties = {
                each["name"]: {"description": each.get("description", ""), **_find_schema(each)} for each in listed
            }
            required = [each["name"] for each in listed if each.get("required")]
            if listed:
                groups.append(
                    {"heading": heading, "fields": list_fields({"properties": properties, "required": required})}
                )
        return groups

    def _view_body(self, operation: dict[str, Any]) -> list[View]:
        """Return the view of the body in a list, which is empty if the operation takes none."""
        if "requestBody" not in operation:
            return []
        content = operation["requestBody"]["content"]["application/json"]
        fields = list_fields(self._resolve(content["schema"]))
        # Each body that is an object of parameters has a component of its own, whose name says nothing to a reader.
        named = not _find_name(content["schema"]).endswith("Body")
        return [
            {
                "needed": operation["requestBody"]["required"],
                "of_shape": named,
                "type": describe_type(content["schema"]),
                "has_fields": bool(fields),
                "fields": fields,
                "example": format_json(content["example"]),
            }
        ]

    def _view_answer(self, status: str, answer: dict[str, Any]) -> View:
        reference = answer.get("$ref", "").rpartition("/")[2]
        described = self._document["components"]["responses"][reference] if reference else answer
        types = [
            {"media": media, "type": describe_type(content["schema"])}
            for media, content in described.get("content", {}).items()
        ]
        return {"status": status, "text": described["description"], "types": types}

    def _list_answer_fields(self, operation: dict[str, Any]) -> list[View]:
        """Return the fields of a successful answer; none if it is no object."""
        success = next(answer for status, answer in operation["responses"].items() if status < "400")
        schema = success.get("content", {}).get("application/json", {}).get("schema", {})
        return list_fields(self._resolve(schema))

    def _names_of(self, id: str) -> set[str]:
        """Return the components that an operation names itself."""
        found: set[str] = set()
        _collect_names(self._operations[id][2], found)
        bodies = [self._schemas[name] for name in found if name.endswith("Body")]
        for body in bodies:
            _collect_names(body, found)
        return found

    def _resolve(self, schema: Schema) -> Schema:
        name = _find_name(schema)
        return self._schemas[name] if name else schema


def _find_schema(parameter: dict[str, Any]) -> Schema:
    """Return the schema of a parameter, which may be written as JSON."""
    content: dict[str, Any] = parameter.get("content", {})
    schema: Schema = parameter["schema"] if "schema" in parameter else content["application/json"]["schema"]
    return schema


def _find_name(schema: Schema) -> str:
    reference: str = schema.get("$ref", "")
    return reference.removeprefix(_PREFIX)


# Names may stand at any depth: in lists, in alternatives and in the items of lists.
def _collect_names(part: Any, found: set[str]) -> None:
    if isinstance(part, dict):
        if str(part.get("$ref", "")).startswith(_PREFIX):
            found.add(_find_name(part))
        for each in part.values():
            _collect_names(each, found)
    elif isinstance(part, list):
        for each in part:
            _collect_names(each, found)


def _to_title(service: str) -> str:
    return _TITLES.get(service) or service.replace("_", " ").capitalize()


def _quote(name: str) -> str:
    return quote(name, safe="")
