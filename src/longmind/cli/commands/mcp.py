"""`longmind mcp`: memory for an agent that speaks the Model Context Protocol."""

from __future__ import annotations

import signal

from longmind.cli.options import Opened, Space, opened
from longmind.errors import ExtensionMissing


@opened
def mcp(memory: Opened, space: Space = None) -> None:
    """Serve memory to an agent over standard input and output, in the Model Context Protocol, until its input ends."""
    try:
        from longmind.mcp.stdio import serve_stdio
    except ModuleNotFoundError as error:
        raise ExtensionMissing(
            f"The Model Context Protocol needs its SDK, and {error.name} is not installed.",
            hint="Install Longmind with its extra 'server', or mcp itself.",
        ) from error
    # It waits for its input in a thread that nothing wakes but input. What was written is committed by then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve_stdio(memory.context, space)
