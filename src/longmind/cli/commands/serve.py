"""`longmind serve` and `longmind worker`: run the server, or background workers alone.

Both run until a signal. Signals are handled in the main thread: they only ask the server or the workers to stop, and
the engine is closed when those have finished.
"""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from longmind.cli.options import Url
from longmind.cli.output import AsJson, print_json, report_progress
from longmind.cli.typing_mistakes import find_address
from longmind.engine import open
from longmind.errors import InvalidInput

Workers = Annotated[int, typer.Option(help="The number of background workers; 0 for none.")]


def serve(
    url: Url = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 for any free port.")] = 8000,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Serve requests over HTTP until Ctrl-C or SIGTERM.

    It then refuses new requests and finishes those in progress.
    """
    try:
        from longmind.server.app import make_app
        from longmind.server.observability.logs import set_up_logs
        from longmind.server.process import HttpServer, format_address, open_listener
    except ImportError as error:
        raise InvalidInput(
            f"The server needs the package {error.name!r}.", hint="Run: pip install 'longmind[server]'"
        ) from None
    count = _validate_workers(workers, least=0)
    with open(find_address(url)) as engine:
        app = make_app(engine, host=host)
        listener = open_listener(host, port)
        serving = HttpServer(app, engine, listener, count)
        # After the listener is open, so that an error about the address is printed as text.
        set_up_logs(engine.settings)
        single = app.state.authenticator.single_user
        mode = "single-user mode, no key needed" if single else "key required"

        def ready() -> None:
            address = format_address(listener)
            report_progress(f"Longmind listens on {address} ({mode})")
            if as_json:
                print_json({"address": address, "singleUser": single})

        serving.serve_until_stopped(ready)


def worker(
    url: Url = None,
    workers: Annotated[int, typer.Option(help="The number of jobs to run at once.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Run background jobs, such as extraction, until Ctrl-C or SIGTERM; running jobs are finished."""
    from longmind.server.observability.logs import set_up_logs

    # Validated before the database is opened.
    count = _validate_workers(workers, least=1)
    stop = threading.Event()
    with open(find_address(url)) as engine:
        set_up_logs(engine.settings)
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: stop.set())
        engine.start_workers(count)
        report_progress(f"{count} {'worker is' if count == 1 else 'workers are'} at work")
        if as_json:
            print_json({"workers": count})
        stop.wait()
        report_progress("finishing running jobs")


def _validate_workers(count: int, *, least: int) -> int:
    """Return the number of workers, or raise InvalidInput if it is out of range."""
    if not least <= count <= 64:
        raise InvalidInput(f"--workers is {count}.", hint=f"Give a number from {least} to 64.")
    return count
