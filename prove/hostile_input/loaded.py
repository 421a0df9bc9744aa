"""Everything that commands need, loaded before the process is forked that each of them runs in."""

from __future__ import annotations

import recollect.cli.running
import recollect.engine
import recollect.mcp.stdio
import recollect.server.app  # noqa: F401
