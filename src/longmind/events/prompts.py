"""Material of the log for the next prompt: summaries, messages and tool results.

Remembered text is data in a prompt: summaries and the texts of segments are sanitised, so that they can neither close a
tag nor begin a line of their own. The messages of a history are different: each is a message of its own in the prompt
and stays as it was said, because a model continues from it.
"""

from __future__ import annotations

from typing import Any

from longmind.assembly.sanitiser import sanitise
from longmind.conversations.history import escape_reminder_tags
from longmind.events.digest import DIGEST_NAME
from longmind.events.summaries import SUMMARIES_LIMIT, TimelineSummaries
from longmind.events.summary_event import read_summary_text
from longmind.events.timeline import TimelineLog
from longmind.models.event import TOOL_RESULT, Event
from longmind.store.tables import events as store
from longmind.validation.identifiers import validate_count, validate_label
from longmind.validation.parameter_limits import LIMIT


class PromptReader:
    """Reads what a prompt needs of one timeline. A limit of 0 leaves that part out."""

    def __init__(self, log: TimelineLog, summaries: TimelineSummaries) -> None:
        self._log = log
        self._summaries = summaries

    def build_history(
        self, limit: int, summary_scope_id: str | None, summary_tag: str, max_summaries: int
    ) -> dict[str, Any]:
        """Return the newest summaries as one text, and with them the last messages; see `chat_history_for_llm`."""
        summary = self._read_long_term(summary_scope_id, summary_tag, max_summaries)
        messages = [{"role": "system", "content": summary}] if summary else []
        turns = self._read_chat("limit", limit)
        messages += (_to_message(turn) for turn in turns if turn.text and turn.text.strip())
        return {"summary": summary, "messages": messages}

    def build_segments(
        self, chat_limit: int, summary_tag: str, max_summaries: int, tool: str | None, tool_limit: int
    ) -> dict[str, Any]:
        """Return the parts of a prompt by name; see `build_prompt_segments`."""
        tool = validate_label("tool", tool)
        return {
            "long_term": self._read_long_term(None, summary_tag, max_summaries),
            "recent_chat": [
                {
                    "ts": event.ts,
                    "role": _sanitise(event.stage),
                    "text": sanitise(event.text or ""),
                    "tags": _sanitise(event.tags),
                }
                for event in self._read_chat("recent_chat_limit", chat_limit)
            ],
            "recent_tools": [
                {
                    "ts": event.ts,
                    "tool": _sanitise(event.tool),
                    "message": sanitise(event.text or ""),
                    "inputs": _sanitise(event.inputs),
                    "outputs": _sanitise(event.outputs),
                    "tags": _sanitise(event.tags),
                }
                for event in self._read_results(tool, tool_limit)
            ],
        }

    def _read_long_term(self, scope_id: str | None, summary_tag: str, limit: int) -> str:
        """Return the newest summaries, one paragraph each."""
        if _is_zero(limit):
            return ""
        limit = validate_count("max_summaries", limit, most=SUMMARIES_LIMIT)
        newest_first = reversed(self._summaries.read_newest(scope_id, summary_tag, limit))
        # Two summaries of the same events read the same; the newer one is kept.
        paragraphs = dict.fromkeys(paragraph for paragraph in map(_to_paragraph, newest_first) if paragraph)
        return "\n\n".join(reversed(paragraphs))

    def _read_chat(self, where: str, limit: int) -> list[Event]:
        window = self._log.build_window(None)
        if window is None or _is_zero(limit):
            return []
        return self._log.read(store.list_newest_chat, window, LIMIT.check(where, limit), None)

    def _read_results(self, tool: str | None, limit: int) -> list[Event]:
        window = self._log.build_window(None)
        if window is None or _is_zero(limit):
            return []
        limit = LIMIT.check("tool_limit", limit)
        if tool is None:
            return self._log.read(store.list_newest, window, limit, 0, (TOOL_RESULT,))
        return self._log.read(store.list_newest_on_topic, window, limit, TOOL_RESULT, tool)


def _is_zero(count: object) -> bool:
    return count == 0 and type(count) is int


def _to_paragraph(summary: Event) -> str:
    text = read_summary_text(summary)
    if (summary.data or {}).get("made_by") != DIGEST_NAME:
        return sanitise(text)
    # Each line of a digest was made from one event, never by what that event said, so the line breaks can stay.
    return "\n".join(filter(None, map(sanitise, text.split("\n"))))


def _to_message(event: Event) -> dict[str, str]:
    text = event.text or ""
    match event.stage:
        case "tool":
            # Chat models take a tool's text only as the answer to a call. Nobody vouches for it: it is data.
            return {"role": "assistant", "content": sanitise(text)}
        case "system":
            return {"role": "system", "content": text}
        case "assistant":
            return {"role": "assistant", "content": escape_reminder_tags(text)}
        case _:
            # A turn that was recorded by its kind may have any role, and chat models know no others than these.
            return {"role": "user", "content": escape_reminder_tags(text)}


def _sanitise(value: Any) -> Any:
    """Return JSON with every text in it sanitised."""
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, list):
        return [_sanitise(each) for each in value]
    if isinstance(value, dict):
        return {sanitise(name): _sanitise(each) for name, each in value.items()}
    return value
