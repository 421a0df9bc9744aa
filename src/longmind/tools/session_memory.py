"""The brief in the prompts of turns: what an agent noted in earlier sessions reaches the model without a tool call."""

from __future__ import annotations

import logging
from dataclasses import replace

from longmind.assembly.sanitiser import sanitise
from longmind.assembly.stated_lines import StatedLines
from longmind.clock import Clock
from longmind.errors import LongmindError, ToolError
from longmind.models.tool import BriefEntry
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.tools.deadline import Deadline, Expired, run_within
from longmind.tools.entry_views import to_brief_entry
from longmind.tools.memory_brief import as_prompt, read_entries, to_single_line
from longmind.tools.redaction import redact
from longmind.tools.tool_group import find_group

SESSION_START_SECONDS = 5.0
_log = logging.getLogger("longmind.tools")


class SessionMemory:
    """Reads the brief of a scope for a prompt, of what agents noted.

    It is not audited, because no agent has called a tool.
    """

    def __init__(self, database: Database, scope: Scope, clock: Clock) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock

    def read_brief(self, prompt: str) -> str:
        """Return the brief as a part of a prompt, without what the prompt states already.

        It never fails: if memory cannot be read within five seconds, it is empty and a warning is logged.
        """
        try:
            entries = run_within(SESSION_START_SECONDS, self._read)
        except (LongmindError, Expired) as error:
            reason = error.code if isinstance(error, ToolError) else type(error).__name__
            _log.warning("a turn starts without the memory brief: %s", reason)
            return ""
        stated = StatedLines(prompt) if prompt and entries else None
        return as_prompt([each for each in entries if stated is None or not stated.has(sanitise(each.content))])

    def _read(self, deadline: Deadline) -> list[BriefEntry]:
        now, scope = self._clock(), replace(self._scope, group=find_group(self._scope))
        # What conversations taught reaches prompts by working contexts and core memory, chosen for the question.
        atoms, _ = self._database.read_snapshot(scope, read_entries, scope, now, "tool")
        deadline.seal()
        return [to_brief_entry(atom, redact(to_single_line(atom.text)), now, with_provenance=False) for atom in atoms]
