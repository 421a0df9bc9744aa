"""That the garbage collector rests only for as long as it was meant to."""

from __future__ import annotations

import gc
from contextlib import suppress

from recollect.collecting import uncollected


def test_the_collector_rests_and_is_back_afterwards_also_after_an_error() -> None:
    with suppress(ValueError), uncollected():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()


def test_a_collector_that_was_sent_away_stays_away() -> None:
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
