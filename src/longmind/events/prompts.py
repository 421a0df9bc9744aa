"""Operations that put together what the next prompt is to have of the log.

What was remembered is data in a prompt: summaries, and what stands in segments, can neither close a tag nor begin a
line of their own. The messages of a history are something else: each is what somebody said, in a message of its own,
and stays as it was said, since a model goes on with it.
"""

from __future__ import annotations

from typing import Any

from longmind.assembly.sanitiser import harmless
from longmind.conversations.history import untagged
from longmind.events.digest import NAME
from longmind.events.distilling import SUMMARIES_LIMIT
from longmind.events.loading import Loading
from longmind.events.summary import words_of_summary
from longmind.models.event import TOOL_RESULT, Event
from longmind.store.tables import events as store
from longmind.validation.annotated import LIMIT, HistoryLimit
from longmind.validation.identifiers import validate_count, validate_label


class Prompting(Loading):
    def chat_history_for_llm(
        self,
        *,
        limit: HistoryLimit = 20,
        include_system_summary: bool = True,
        summary_tag: str = "session",
        summary_scope_id: str | None = None,
        max_summaries: int = 3,
    ) -> dict[str, Any]:
        """The last messages in the form that chat models take, behind a system message with the newest summaries.

        `summary` is what that message says, or an empty text where there is none.
        """
        wanted = max_summaries if include_system_summary else 0
        summary = self._long_term(summary_scope_id, summary_tag, wanted)
        messages = [{"role": "system", "content": summary}] if summary else []
        said = self._last_chat("limit", limit)
        messages += (_message(event) for event in said if event.text and event.text.strip())
        return {"summary": summary, "messages": messages}

    def build_prompt_segments(
        self,
        *,
        recent_chat_limit: int = 12,
        include_long_term: bool = True,
        summary_tag: str = "session",
        max_summaries: int = 3,
        include_recent_tools: bool = False,
        tool: str | None = None,
        tool_limit: int = 10,
    ) -> dict[str, Any]:
        """What a prompt may be made of: the newest summaries, the last messages, and the last results of a tool or all.

        Texts are harmless: each stands on one line and cannot be taken for a part of the prompt around it.
        """
        name = validate_label("tool", tool)
        return {
            "long_term": self._long_term(None, summary_tag, max_summaries if include_long_term else 0),
            "recent_chat": [
                {
                    "ts": event.ts,
                    "role": _harmless_values(event.stage),
                    "text": harmless(event.text or ""),
                    "tags": _harmless_values(event.tags),
                }
                for event in self._last_chat("recent_chat_limit", recent_chat_limit)
            ],
            "recent_tools": [
                {
                    "ts": event.ts,
                    "tool": _harmless_values(event.tool),
                    "message": harmless(event.text or ""),
                    "inputs": _harmless_values(event.inputs),
                    "outputs": _harmless_values(event.outputs),
                    "tags": _harmless_values(event.tags),
                }
                for event in (self._last_results(name, tool_limit) if include_recent_tools else ())
            ],
        }

    def _long_term(self, scope_id: str | None, summary_tag: str, most: int) -> str:
        """The newest summaries, one paragraph each."""
        if _is_none(most):
            return ""
        most = validate_count("max_summaries", most, most=SUMMARIES_LIMIT)
        found = (_paragraph(event) for event in reversed(self._newest_summaries(scope_id, summary_tag, most)))
        # Two that were made of the same events say the same.
        return "\n\n".join(reversed(dict.fromkeys(paragraph for paragraph in found if paragraph)))

    def _last_chat(self, where: str, limit: int) -> list[Event]:
        window = self._window(None)
        if window is None or _is_none(limit):
            return []
        most = LIMIT.check(where, limit)
        return self._read(store.newest_chat, window, most, None)

    def _last_results(self, tool: str | None, limit: int) -> list[Event]:
        window = self._window(None)
        if window is None or _is_none(limit):
            return []
        most = LIMIT.check("tool_limit", limit)
        if tool is None:
            return self._read(store.newest, window, most, 0, (TOOL_RESULT,))
        return self._read(store.newest_on_topic, window, most, TOOL_RESULT, tool)


def _is_none(count: object) -> bool:
    return count == 0 and type(count) is int


def _paragraph(summary: Event) -> str:
    words = words_of_summary(summary)
    if (summary.data or {}).get("made_by") != NAME:
        return harmless(words)
    # Line by line, since each line of a digest was made from one event and not by what that said.
    return "\n".join(filter(None, map(harmless, words.split("\n"))))


def _message(event: Event) -> dict[str, str]:
    text = event.text or ""
    match event.stage:
        case "tool":
            # Chat models take a tool's word only as the answer to a call. Nobody vouches for it: it is data.
            return {"role": "assistant", "content": harmless(text)}
        case "system":
            return {"role": "system", "content": text}
        case "assistant":
            return {"role": "assistant", "content": untagged(text)}
        case _:
            # Whoever records a turn by its kind may call a speaker anything, and chat models know no others.
            return {"role": "user", "content": untagged(text)}


def _harmless_values(value: Any) -> Any:
    """JSON with every text in it made harmless."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, list):
        return [_harmless_values(each) for each in value]
    if isinstance(value, dict):
        return {harmless(name): _harmless_values(each) for name, each in value.items()}
    return value
