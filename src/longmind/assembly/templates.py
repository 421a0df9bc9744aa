"""Mustache templates that lay out prompts, filled with sanitised memory."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import combinations
from typing import TYPE_CHECKING, Any

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE, escape_markup
from longmind.assembly.sections import Section, build_variables, name_part
from longmind.assembly.template_sections import (
    WORKING_CONTEXT,
    Outline,
    build_sample,
    list_marks,
    list_suggestion_parts,
)
from longmind.errors import InvalidInput
from longmind.scope import IDENTITY_LIMIT
from longmind.validation.text import validate_text

if TYPE_CHECKING:
    import combustache

DEFAULT = "default"
BUILT_IN = (DEFAULT, "xml", "messages")
TEMPLATE_LIMIT = 100_000
_LAYOUTS = files("longmind.assembly") / "layouts"

_ELSEWHERE = re.compile(r"\{\{\s*([><$])")
_BREAKS = re.compile(r"\n{3,}")


class Template:
    """A parsed template that was tried on samples, so that the parts it shows are known.

    Raises InvalidInput if showing one part depends on another, or if suggestions stand without their notice.
    """

    def __init__(self, id: str, text: str, outline: Outline = WORKING_CONTEXT) -> None:
        self.id = id
        self._parsed = _parse_template(id, text)
        # Tried with every part present, each marked, to see what the template shows.
        marks, suggestions = list_marks(outline), list_suggestion_parts(outline)
        tried = self._render(build_sample(outline, marks, spare="x"), _refuse_variable)
        self.shows = frozenset(part for part, mark in marks.items() if mark in tried)
        """The parts that it shows: sections, or `name.facts` and `name.suggestions` of those with memory."""
        # And with every combination of missing parts, on which the shown ones must not depend.
        for count in range(len(marks) + 1):
            for parts in combinations(marks, count):
                self._try(self._render(build_sample(outline, parts), _render_nothing), parts, marks, suggestions)

    def _try(self, tried: str, parts: Sequence[str], marks: Mapping[str, str], suggestions: set[str]) -> None:
        """Raise InvalidInput if a sample shows other parts than the full one, or suggestions without notice."""
        places = {part: tried.find(mark) for part, mark in marks.items()}
        for part in parts:
            if (places[part] >= 0) != (part in self.shows):
                raise _make_template_error(self.id, f"whether it shows {part} depends on other parts")
        suggested = [place for part, place in places.items() if place >= 0 and part in suggestions]
        if suggested and not 0 <= tried.find(SUGGESTIONS_NOTICE) < min(suggested):
            # Preferences, rules and lines of blocks never appear without the notice that makes them suggestions.
            raise _make_template_error(self.id, "it shows suggestions without {{notice}} before them")

    def select_visible(self, sections: Sequence[Section]) -> list[Section]:
        """Return the sections with only the pieces that the template shows."""
        return [
            each.drop_pieces(
                [place for place, piece in enumerate(each.pieces) if name_part(each, piece) not in self.shows]
            )
            for each in sections
        ]

    def render(self, sections: Sequence[Section]) -> str:
        """Return the sections laid out, or an empty text if they hold nothing."""
        shown = build_variables(self.select_visible(sections))
        if not shown["any"]:
            return ""
        text = self._render(shown, _render_nothing)
        # Finding the breaks is faster than the pattern.
        return (_BREAKS.sub("\n\n", text) if "\n\n\n" in text else text).strip("\n")

    def render_alone(self, section: Section) -> str:
        """Return one section laid out by itself, without what stands around all of them."""
        shown = build_variables(self.select_visible([section])) | {"any": False}
        return self._render(shown, _render_nothing).strip("\n")

    def _render(self, shown: dict[str, Any], missing: Any) -> str:
        """Render variables; `missing` is called for a name that is not among them."""
        return str(self._parsed.render(shown, escape=escape_markup, missing_data=missing))


class Templates:
    """The templates of an engine, by id. Threads may share it."""

    def __init__(self) -> None:
        self._registered: dict[str, Template] = {}
        self._lock = threading.Lock()

    def register(self, template_id: str, text: str) -> None:
        """Register a template under an id; it replaces one that was registered under the same id.

        template_id: at most 255 characters, and not one of the built-in ids. text: Mustache, at most 100,000
        characters. Raises InvalidInput for a template that cannot be used, with the reason.
        """
        checked = validate_text("template_id", template_id, limit=IDENTITY_LIMIT, blank=False)
        if checked in BUILT_IN:
            raise InvalidInput(f"The template {checked!r} is built in.", hint="Choose another id.")
        template = Template(checked, validate_text("text", text, limit=TEMPLATE_LIMIT, blank=False))
        with self._lock:
            self._registered[checked] = template

    def ids(self) -> list[str]:
        """Return the ids that can be chosen, the built-in ones first."""
        return [*BUILT_IN, *sorted(self._registered.keys() - set(BUILT_IN))]

    def find(self, template_id: str | None) -> Template:
        """Return the template of an id; None is the default one."""
        wanted = DEFAULT if template_id is None else template_id
        found = self._registered.get(wanted) if isinstance(wanted, str) else None
        if found is not None:
            return found
        if wanted not in BUILT_IN:
            raise InvalidInput(f"Unknown template {wanted!r}.", hint=f"Use {', '.join(self.ids())}.")
        template = Template(wanted, (_LAYOUTS / f"{wanted}.mustache").read_text("utf-8"))
        with self._lock:
            return self._registered.setdefault(wanted, template)


def _parse_template(id: str, text: str) -> combustache.Template:
    """Parse a template; raise InvalidInput for one that refers to others or nests a section in itself."""
    # Imported with the first template: most programs build no prompts.
    import combustache
    from combustache.exceptions import CombustacheError

    elsewhere = _ELSEWHERE.search(text)
    if elsewhere:
        raise _make_template_error(id, f"it refers to another template with {{{{{elsewhere[1]}")
    try:
        parsed = combustache.Template(text)
        repeated = _find_repeated_section(parsed)
    except (CombustacheError, RecursionError) as error:
        raise _make_template_error(id, str(error) or "its sections are nested too deeply") from None
    if repeated is not None:
        raise _make_template_error(id, f"the section {repeated!r} is nested in one of the same name")
    return parsed


def _find_repeated_section(parsed: combustache.Template, around: frozenset[str] = frozenset()) -> str | None:
    """Return the name of a section that stands within itself, or None.

    A list can be reached from within its own items, so ten nested ones would turn fifty messages into fifty to the
    tenth.
    """
    from combustache.nodes.section import Inverted, Section

    for node in parsed._list:
        if isinstance(node, Section):
            # Of `turns.items`, the list is `items`.
            name = str(node.contents).rpartition(".")[2]
            if isinstance(node, Inverted):
                inner = around
            elif name and name in around:
                return name
            else:
                inner = around | {name}
            repeated = _find_repeated_section(node.inside, inner)
            if repeated is not None:
                return repeated
    return None


def _refuse_variable() -> Any:
    raise InvalidInput("The template uses an unknown variable.", hint="Use the variables that the documentation lists.")


def _render_nothing() -> str:
    return ""


def _make_template_error(id: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"The template {id!r} cannot be used: {what}.", hint="Correct it; the documentation has examples."
    )
