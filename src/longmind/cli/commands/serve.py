"""`longmind serve` and `longmind worker`: the engine as a service."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from longmind.cli.options import Url
from longmind.cli.output import AsJson, answer_json, progress
from longmind.engine import open
from longmind.errors import InvalidInput

Workers = Annotated[int, typer.Option(help="How many jobs are done at a time, beside the requests; 0 for none.")]


def serve(
    url: Url = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 for any that is free.")] = 8000,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Answer requests over HTTP, until it is told to stop by Ctrl-C or SIGTERM.

    It then takes no more requests and finishes those that it has taken.
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
    with open(url) as engine:
        app = make_app(engine, host=host)
        listener = open_listener(host, port)
        serving = HttpServer(app, engine, listener, count)
        set_up_logs(engine.settings)
        single = app.state.authenticator.single_user
        mode = "single-user mode, no key is needed" if single else "a key is needed"

        def ready() -> None:
            address = format_address(listener)
            progress(f"Longmind listens on {address} ({mode})")
            if as_json:
                answer_json({"address": address, "singleUser": single})

        serving.serve_until_stopped(ready)


def worker(
    url: Url = None,
    workers: Annotated[int, typer.Option(help="How many jobs at a time.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Do jobs, such as extraction, until it is told to stop; the jobs at hand are finished."""
    from longmind.server.observability.logs import set_up_logs

    count = _validate_workers(workers, least=1)
    stop = threading.Event()
    with open(url) as engine:
        set_up_logs(engine.settings)
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: stop.set())
        engine.start_workers(count)
        progress(f"{count} {'worker is' if count == 1 else 'workers are'} at work")
        if as_json:
            answer_json({"workers": count})
        stop.wait()
        progress("finishing the jobs at hand")


def _validate_workers(count: int, *, least: int) -> int:
    if not least <= count <= 64:
        raise InvalidInput(f"--workers is {count}.", hint=f"It is from {least} to 64.")
    return count
