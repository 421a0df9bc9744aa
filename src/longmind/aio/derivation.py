"""Derivation of awaitable classes from synchronous ones, so that each signature and docstring is written once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, Concatenate, ParamSpec, TypeVar

from longmind.runtime.thread_pool import Hop

P = ParamSpec("P")
T = TypeVar("T")


def derive_async(
    service: type,
    *,
    plain: Collection[str] = (),
    separate: Collection[str] = (),
    without: Collection[str] = (),
    **replacements: Callable[..., Any],
) -> type:
    """Make a class whose public methods are those of a service, awaitable, each run in a thread of the engine.

    plain: methods that wait for nothing and stay synchronous; a service may name some in its attribute `plain`.
    separate: methods that may wait for other operations, and so need a thread of their own.
    without: methods to leave out.
    replacements: functions to take instead of a derived method, by its name.

    `tools/twins.py` writes the types of the made classes to `services.pyi`.
    """
    plain = {*plain, *getattr(service, "plain", ())}

    def __init__(self: Any, original: Any, hop: Hop) -> None:
        self._original = original
        self._hop = hop

    members: dict[str, Any] = {
        "__init__": __init__,
        "__repr__": lambda self: f"Async{self._original!r}",
        "__doc__": service.__doc__,
        "__module__": "longmind.aio.services",
        "__wrapped__": service,
    }
    for name, method in inspect.getmembers(service, inspect.isfunction):
        if name.startswith("_") or name in without:
            continue
        if name in replacements:
            members[name] = replacements[name]
        elif name in plain:
            members[name] = _make_plain(name, method)
        else:
            members[name] = _make_awaitable(name, method, separate=name in separate)
    return type(f"Async{service.__name__}", (), members)


def match_method(
    original: Callable[Concatenate[Any, P], Any],
) -> Callable[[Callable[..., T]], Callable[Concatenate[Any, P], T]]:
    """Give a hand-written asynchronous method the parameters and the docstring of the method that it wraps."""

    def describe(method: Callable[..., T]) -> Callable[Concatenate[Any, P], T]:
        return functools.update_wrapper(method, original, assigned=("__doc__",), updated=())

    return describe


def match_parameters(original: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Give a function the parameters of another one; it keeps its own docstring."""

    def describe(function: Callable[..., T]) -> Callable[P, T]:
        return functools.update_wrapper(function, original, assigned=(), updated=())

    return describe


def _make_plain(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls the original one at once."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(self._original, name)(*args, **kwargs)
        # A method such as `events.at` returns the same service for another place, which has to be awaitable too.
        return type(self)(answer, self._hop) if isinstance(answer, type(self._original)) else answer

    call.__qualname__ = f"Async{method.__qualname__}"
    return call


def _make_awaitable(name: str, method: Callable[..., Any], *, separate: bool) -> Callable[..., Any]:
    """Return a coroutine method that calls the original one in a thread."""

    @functools.wraps(method)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = self._hop.run_separately if separate else self._hop
        return await run(getattr(self._original, name), *args, **kwargs)

    call.__qualname__ = f"Async{method.__qualname__}"
    return call
