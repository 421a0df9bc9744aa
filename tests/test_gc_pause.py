"""That the garbage collector rests only for as long as it was meant to."""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest

from longmind.runtime.gc_pause import pause_collection


def test_the_collector_rests_and_is_back_afterwards_also_after_an_error() -> None:
    with suppress(ValueError), pause_collection():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()


def test_a_collector_that_was_sent_away_stays_away() -> None:
    gc.disable()
    try:
        with pause_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_that_is_forked_while_the_collector_rests_has_one() -> None:
    met, done = Barrier(2), Barrier(2)

    def rest() -> None:
        with pause_collection():
            met.wait()
            done.wait()

    with ThreadPoolExecutor() as other:
        resting = other.submit(rest)
        met.wait()
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
        _, status = os.waitpid(child, 0)
        assert not gc.isenabled()
        done.wait()
        resting.result()
    assert os.waitstatus_to_exitcode(status) == 0
    assert gc.isenabled()
