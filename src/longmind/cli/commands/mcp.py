"""`longmind mcp`: serve memory to an agent through the Model Context Protocol.

A host starts this command as a child process and speaks the protocol through its pipes. The scope comes from options
and environment variables, since the protocol has no credentials over pipes.
"""

from __future__ import annotations

import signal
import sys

from longmind.cli.options import MemoryAccess, Space, provide_memory
from longmind.cli.output import report_progress
from longmind.errors import ExtensionMissing


@provide_memory
def mcp(memory: MemoryAccess, space: Space = None) -> None:
    """Serve memory to an agent over standard input and output, through the Model Context Protocol."""
    try:
        # Imported late: the SDK belongs to the extra `server`.
        from longmind.mcp.stdio import serve_stdio
    except ModuleNotFoundError as error:
        raise ExtensionMissing(
            f"The package {error.name!r} is not installed.",
            hint="Run: pip install 'longmind[server]'",
        ) from error
    if sys.stdin.isatty():
        # Without this line a command that waits for a client looks as if it hung.
        report_progress("Waiting for a client, which starts this command by itself; Ctrl-C ends it.")
    # The SDK reads input in a thread that Python cannot interrupt. Every write is committed by the time it is answered.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve_stdio(memory.context, space)
