"""Everything that commands need, loaded before the process is forked that each of them runs in."""

from __future__ import annotations

import longmind.cli.entry_point
import longmind.engine
import longmind.mcp.stdio
import longmind.server.app  # noqa: F401  # loaded before the fork
