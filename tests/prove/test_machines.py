"""The proof of several machines: its checker sees what it must, and its network can be cut as it says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import longmind
from harness.crew import wait_until
from longmind.extraction.candidate import SourceMessage
from prove.machines import worker_cuts
from prove.machines.accounts import Accounts, faults
from prove.machines.backlog import Backlog
from prove.machines.effects import answers, list_effects
from prove.machines.erasure import tables_with
from prove.machines.http_client import NodeAnswer
from prove.machines.job_holders import KINDS
from prove.machines.network import Network, cannot, network, remove_leftovers
from prove.machines.slow_job_marks import MARKS
from prove.machines.worker import EachMessage, SlowWords, Verbatim
from prove.machines.worker_cuts import Cuts
from prove.machines.world import QUICK, connect, world

needs_machines = pytest.mark.skipif(cannot() is not None, reason=f"no network namespaces here: {cannot()}")

_CALL = """
import socket
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.settimeout(0.5)
line.connect(("{address}", 9))
try:
    line.send(b"?")
    line.recv(1)
except ConnectionRefusedError:
    print("heard and answered")
except TimeoutError:
    print("lost")
"""


def kept_accounts() -> Accounts:
    accounts = Accounts()
    accounts.acknowledge("message a", "id-1")
    accounts.acknowledge("message b", "id-2")
    accounts.ask("message c")
    return accounts


def test_the_checker_is_content_with_what_was_acknowledged_once_and_the_rest_at_most_once() -> None:
    answers = {"message a": "id-1", "message b": "id-2"}
    assert faults(kept_accounts(), ["message a", "message b"], answers) == []
    assert faults(kept_accounts(), ["message a", "message b", "message c"], answers) == []


@pytest.mark.parametrize(
    ("happened", "answers", "told"),
    [
        (["message a"], {}, "lost: message b"),
        (["message a", "message a", "message b"], {}, "2 times: message a"),
        (["message a", "message b", "message c", "message c"], {}, "2 times: message c"),
        (["message a", "message b", "message d"], {}, "invented: message d"),
        (
            ["message a", "message b"],
            {"message a": "id-9"},
            "misreported: message a: 'id-1' was answered, 'id-9' is stored",
        ),
    ],
    ids=["a lost write", "a doubled effect", "a doubled effect that nobody acknowledged", "an invention", "another id"],
)
def test_the_checker_sees_a_planted_bug(happened: list[str], answers: dict[str, str], told: str) -> None:
    assert faults(kept_accounts(), happened, answers) == [told]


def test_the_checker_sees_a_repetition_that_was_answered_otherwise() -> None:
    accounts = kept_accounts()
    accounts.acknowledge("message a", "id-3")
    assert faults(accounts, ["message a", "message b"]) == ["contradicted: message a: 'id-1', then 'id-3'"]


def test_an_error_without_its_kind_and_words_is_no_clean_answer() -> None:
    problem = {"type": "store-unavailable", "detail": "PostgreSQL cannot be reached.", "status": 503}
    assert NodeAnswer(503, 1.0, problem).clean
    assert NodeAnswer(0, 1.0, error="TimeoutError").clean
    assert not NodeAnswer(500, 1.0, None).clean
    assert not NodeAnswer(503, 1.0, {"error": "?"}).clean


def done_at_once(url: str) -> Backlog:
    """A job of every kind of the engine's that a worker is cut off in, done once by a worker that does not think."""
    quick = (0.0, 0.0)
    with (
        longmind.open(
            url, extractor=EachMessage(*quick), summariser=Verbatim(*quick), embedder=SlowWords(*quick)
        ) as engine,
        longmind.open(url, embedder=None) as plain,
    ):
        backlog = Backlog(plain)
        for kind in MARKS:
            backlog.queue_long(kind)
        assert engine.work() == longmind.WorkReport(succeeded=len(MARKS))
        kinds = [job.kind for job in backlog.ctx.jobs.list_jobs()]
        assert all(any(each.startswith(KINDS[kind]) for each in kinds) for kind in MARKS)
    return backlog


def test_the_checker_finds_each_effect_of_the_engines_own_jobs_once(postgres_url: str) -> None:
    backlog = done_at_once(postgres_url)
    with connect(postgres_url) as database:
        there = list(list_effects(database))
        assert faults(backlog.accounts, there, answers(database)) == []
    assert {name.rpartition(" ")[0] for name in there} >= {"summary", "distillate", "block", "vectors", "event vectors"}


TWICE = """
INSERT INTO longmind.events (scope_id, event_id, tenant_id, app_id, user_id, ts, kind, stage, text, data, timeline_id)
SELECT scope_id, event_id || '-2', tenant_id, app_id, user_id, ts, kind, stage, text, data, timeline_id
FROM longmind.events
"""
PLANTED = {
    f"{TWICE} WHERE stage LIKE 'summary%'": ["2 times: distillate"],
    f"{TWICE} WHERE kind = 'block.created'": ["2 times: block agent-1"],
    "DELETE FROM longmind.events WHERE stage LIKE 'summary%'": ["lost: distillate"],
    "UPDATE longmind.events SET text = text || text WHERE stage LIKE 'summary%'": ["misreported: distillate"],
    "UPDATE longmind.blocks SET content = content || content": ["misreported: block agent-1"],
    "UPDATE longmind.vector_segments SET atoms = 2 WHERE atoms = 3": ["misreported: vectors"],
    "DELETE FROM longmind.vector_segments": ["lost: vectors"],
    "DELETE FROM longmind.event_vectors": ["lost: event vectors"],
}


def test_the_checker_sees_what_is_wrong_with_an_effect_of_the_engines_own_jobs(postgres_url: str) -> None:
    backlog = done_at_once(postgres_url)
    with connect(postgres_url) as database:
        for statement, told in PLANTED.items():
            with database.transaction(force_rollback=True):
                database.execute(statement.encode())
                found = faults(backlog.accounts, list_effects(database), answers(database))
            assert len(found) == len(told), (statement, found)
            assert all(each.startswith(start) for each, start in zip(found, told, strict=True)), (statement, found)


def test_a_summary_of_a_talk_without_end_keeps_to_its_length() -> None:
    said = [SourceMessage(str(number), "user", f"Number {number}.", number) for number in range(1_000)]
    verbatim = Verbatim(0.0, 0.0)
    assert verbatim.summarise(None, said[:2], 100) == "Number 0.|Number 1."
    assert len(verbatim.summarise("earlier", said, 100)) == 100


def test_after_enough_cuts_every_kind_of_job_was_cut_in_every_manner() -> None:
    cuts = Cuts()
    while not cuts.is_complete():
        kind, manner = cuts.next()
        cuts.manners[manner] += 1
        cuts.together.add((kind, manner))
    assert sum(cuts.manners.values()) == 40


def test_what_is_left_of_a_user_is_found_in_whatever_table_it_is(postgres_url: str) -> None:
    done_at_once(postgres_url)
    with connect(postgres_url) as database, longmind.open(postgres_url, embedder=None) as engine:
        ada = engine.context(tenant_id="acme", app_id="prove", user_id="ada")
        left = tables_with(database, ada.scope.id)
        assert {"events", "atoms", "blocks", "jobs", "event_vectors", "vector_segments", "conversations"} <= set(left)
        ada.admin.delete_user_data(confirm=True)
        assert tables_with(database, ada.scope.id) == []


def calls(lines: Network, caller: str, callee: str) -> str:
    program = _CALL.format(address=lines[callee].address)
    ended = subprocess.run([*lines[caller].inside, sys.executable, "-c", program], capture_output=True, text=True)
    return ended.stdout.strip()


@needs_machines
@pytest.mark.parametrize(
    ("fail", "mend"),
    [
        (lambda lines: lines.unplug("a"), lambda lines: lines.plug_in("a")),
        (lambda lines: lines.cut("a", "b"), lambda lines: lines.heal("a")),
        (lambda lines: lines.lose("a", "b"), lambda lines: lines.heal("a")),
        (lambda lines: lines.lose("b", "a"), lambda lines: lines.heal("b")),
    ],
    ids=["unplugged", "cut", "one way", "the other way"],
)
def test_a_line_that_fails_loses_what_is_sent_over_it_until_it_is_mended(
    fail: Callable[[Network], None], mend: Callable[[Network], None]
) -> None:
    with network("a", "b", "c") as lines:
        # The kernel takes note of a line that is there in its own time.
        wait_until(lambda: calls(lines, "a", "b") == calls(lines, "c", "b") == "heard and answered")
        fail(lines)
        assert calls(lines, "a", "b") == "lost"
        assert calls(lines, "c", "b") == "heard and answered"
        mend(lines)
        wait_until(lambda: calls(lines, "a", "b") == "heard and answered")


@needs_machines
def test_the_network_of_a_run_that_was_killed_is_removed_by_the_next_one() -> None:
    program = "from prove.machines.network import network\nwith network('a') as lines: print(flush=True); input()"
    dead = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert dead.stdout is not None
    dead.stdout.readline()
    remove_leftovers()
    assert f"rcnet{dead.pid}x" in namespaces()
    dead.kill()
    dead.communicate()
    remove_leftovers()
    assert f"rcnet{dead.pid}x" not in namespaces()


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout


@needs_machines
@pytest.mark.slow
def test_what_a_vanished_worker_has_locked_is_free_again_after_the_silence_and_not_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with world() as machines:
        [held] = worker_cuts.check_vanished_transaction(machines)
        assert held.passed, held.detail
        # As it was before both ends of a line were told to look after it.
        monkeypatch.setitem(QUICK, "LONGMIND_SILENCE_SECONDS", str(longmind.Settings().busy_timeout_seconds * 1000))
        [broken] = worker_cuts.check_vanished_transaction(machines)
        assert not broken.passed
