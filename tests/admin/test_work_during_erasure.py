"""Work that is under way when its user is erased: nothing of it is kept, on either engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest

import longmind
from harness.crew import Line, start_process
from longmind.models.content import ToolUseBlock
from longmind.providers.language_model import ModelRequest
from longmind.providers.testing import ScriptedModel
from longmind.recall import event_vectors
from longmind.recall.embedding_jobs import embed_kind
from longmind.recall.event_vectors import EventVectors
from longmind.recall.index.segments import VectorsSegment
from longmind.store.database import Transaction
from longmind.store.triggers.extraction_requests import EXTRACT
from tests.admin.conftest import bytes_of, empty, live, of
from tests.embedder import WordsEmbedder
from tests.extraction.conftest import talk
from tests.extraction.scripted_extractor import SentenceExtractor

EVERYBODY = {"namespace": "chat", "userId": "*"}


class Meeting:
    """Where work stops in the middle until the erasure is done."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def stop(self) -> None:
        self.reached.set()
        assert self.go_on.wait(60)

    def erase_meanwhile(self, work: Callable[[], object], erase: Callable[[], object]) -> object:
        """Let some work begin in a thread, erase when it is in the middle, and give what it came to."""
        with ThreadPoolExecutor(1) as threads:
            working = threads.submit(work)
            try:
                assert self.reached.wait(60)
                erase()
            finally:
                self.go_on.set()
            return working.result(60)


@pytest.mark.conforms("A9.4", "T9")
@pytest.mark.parametrize("kind", ["user", "shared"])
def test_an_extraction_in_flight_writes_nothing_neither_here_nor_into_a_shared_space(
    engine: longmind.Engine, ada: longmind.Context, root: longmind.Context, extractor: SentenceExtractor, kind: str
) -> None:
    owner = root if kind == "shared" else ada
    space = owner.memory.create_memory_space("insights", kind=kind)  # type: ignore[arg-type]
    owner.memory.create_binding(EVERYBODY if kind == "shared" else {"namespace": "chat", "userId": "ada"}, [space.id])
    talk(ada, "I met Xaver.")
    # The messages are indexed first, so that the extraction alone is left.
    assert engine.work(limit=1).succeeded == 1
    assert [job.kind for job in ada.jobs.list_jobs(status="queued")] == [EXTRACT]
    meeting = Meeting()
    extractor.before = meeting.stop
    report = meeting.erase_meanwhile(engine.work, lambda: root.admin.delete_user_data("ada", confirm=True))
    assert isinstance(report, longmind.WorkReport)
    assert (report.lost, report.succeeded) == (1, 0)
    assert empty(ada)
    if kind == "shared":
        assert root.memory.list_atoms(space.id, status=None) == []
        assert root.admin.export_user_data()["entities"] == []


@pytest.mark.conforms("A9.4", "T9")
def test_an_answer_in_flight_is_not_kept(ada: longmind.Context, root: longmind.Context) -> None:
    conversation = ada.conversations.create_conversation("chat")
    meeting = Meeting()

    def answer(request: ModelRequest) -> str:
        meeting.stop()
        return "Xaver is a nice name."

    def run() -> longmind.TurnResult:
        return ada.conversations.run_turn(conversation.id, user_text="I met Xaver.", model=ScriptedModel([answer]))

    result = meeting.erase_meanwhile(run, lambda: root.admin.delete_user_data("ada", confirm=True))
    assert isinstance(result, longmind.TurnResult)
    assert result.status == "error"
    assert empty(ada)


@pytest.mark.conforms("A9.4", "T9")
def test_a_tool_of_a_turn_in_flight_is_refused_what_it_would_write(
    ada: longmind.Context, root: longmind.Context
) -> None:
    conversation = ada.conversations.create_conversation("chat")
    meeting = Meeting()
    refused = []

    def note(name: str, arguments: dict[str, object]) -> str:
        meeting.stop()
        for write in (
            lambda: ada.blocks.update("core", "Xaver again.", None),
            lambda: ada.memory.create_memory_space("Xaver again."),
            lambda: ada.tools.memory_store("fact", "Xaver again."),
        ):
            with pytest.raises(longmind.LongmindError) as caught:
                write()
            refused.append(caught.value)
        return "noted"

    def run() -> longmind.TurnResult:
        return ada.conversations.run_turn(
            conversation.id,
            user_text="I met Xaver.",
            model=ScriptedModel([ToolUseBlock(id="call-1", name="note", arguments={}), "Good."]),
            tools=[{"name": "note", "description": "Note it."}],
            tool_handler=note,
        )

    result = meeting.erase_meanwhile(run, lambda: root.admin.delete_user_data("ada", confirm=True))
    assert isinstance(result, longmind.TurnResult)
    assert result.status == "error"
    assert len(refused) == 3
    assert empty(ada)


@pytest.mark.conforms("A9.4", "T9")
def test_jobs_in_flight_that_write_by_themselves_are_refused(
    engine: longmind.Engine, ada: longmind.Context, root: longmind.Context
) -> None:
    live(ada)
    engine.work()
    meeting = Meeting()
    tried = []

    def handler(run: longmind.JobRun) -> None:
        meeting.stop()
        tried.append(run.job.id)
        run.context.memory.create_memory_space(run.job.payload["name"])

    engine.register_job("write", handler)
    ada.jobs.enqueue("write", {"name": "Xaver again."})
    report = meeting.erase_meanwhile(engine.work, lambda: root.admin.delete_user_data("ada", confirm=True))
    assert isinstance(report, longmind.WorkReport)
    assert (report.lost, len(tried)) == (1, 1)
    assert empty(ada)


@pytest.mark.conforms("A9.4", "T9")
def test_a_summary_in_flight_is_not_kept(database_url: str) -> None:
    meeting = Meeting()

    class Slow:
        name = "slow@1"

        def summarise(self, before: str | None, messages: object, limit: int) -> str:
            meeting.stop()
            return "They met Xaver."

    with longmind.open(database_url, embedder="none", summariser=Slow()) as engine:
        ada = of(engine, "ada")
        conversation = ada.conversations.create_conversation("chat")
        ada.conversations.append_turn(conversation.id, user_content="I met Xaver.", assistant={"content": "Oh."})

        def refresh() -> object:
            with pytest.raises(longmind.NotFound):
                ada.conversations.refresh_rolling_summary(conversation.id)
            return "refused"

        done = meeting.erase_meanwhile(refresh, lambda: of(engine, "ada").admin.delete_user_data(confirm=True))
        assert done == "refused"
        assert empty(ada)


def distill_and_wait(line: Line, url: str) -> str:
    """A process that has a model distill what was recorded; the model answers when the test says so."""

    def answer(request: ModelRequest) -> str:
        line.say("asked")
        line.hear()
        return "They met Xaver."

    with longmind.open(url, embedder="none") as engine:
        ada = of(engine, "ada")
        ada.events.record("note", "I met Xaver.")
        try:
            ada.events.distill_long_term(use_llm=True, model=ScriptedModel([answer]))
        except longmind.UserErased:
            return "refused"
        return "kept"


@pytest.mark.patient
@pytest.mark.conforms("A9.4", "T9")
def test_a_summary_of_events_that_another_process_is_making_is_not_kept(database_url: str) -> None:
    with (
        longmind.open(database_url, embedder="none") as engine,
        start_process(distill_and_wait, database_url) as other,
    ):
        assert other.hear() == "asked"
        ada = of(engine, "ada")
        assert ada.admin.delete_user_data(confirm=True)["deleted"]["events"] == 1
        other.say("answer")
        assert other.result() == "refused"
        assert empty(ada)


@pytest.mark.conforms("A9.4", "T9")
@pytest.mark.parametrize("by", ["search", "job"])
def test_vectors_of_events_that_are_being_made_are_not_kept(database_url: str, by: str) -> None:
    meeting = Meeting()

    class Slow(WordsEmbedder):
        def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
            if "Xaver" in str(texts):
                meeting.stop()
            return super().embed_texts(texts)

    with longmind.open(database_url, embedder=Slow()) as engine:
        ada, root = of(engine, "ada"), of(engine, "root", capabilities={"admin"})
        ada.events.record("note", "I met Xaver.")
        if by == "job":
            ada.jobs.enqueue(embed_kind("test:words"), {"timelineId": ada.events.timeline()})
        work = engine.work if by == "job" else lambda: ada.events.search("Xaver")
        done = meeting.erase_meanwhile(work, lambda: root.admin.delete_user_data("ada", confirm=True))
        assert done == [] or (isinstance(done, longmind.WorkReport) and done.lost == 1)
        assert empty(ada)


@pytest.mark.conforms("A9.4", "T9")
def test_vectors_of_events_that_are_about_to_be_committed_are_waited_for(engine: longmind.Engine) -> None:
    written, may_commit = threading.Event(), threading.Event()
    ada = of(engine, "ada")
    ada.events.record("note", "I met Xaver.")
    timeline_id = ada.events.timeline()
    assert timeline_id is not None
    made = EventVectors(np.array([1], np.int64), VectorsSegment.from_vectors(np.array([[1.0, 0.0]], np.float32)))

    def put(run: Transaction) -> None:
        event_vectors.put(run, timeline_id, "test:words", made, 0)
        written.set()
        assert may_commit.wait(60)

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(engine._database.write, ada.scope, put)
        assert written.wait(60)
        erasing = threads.submit(lambda: ada.admin.delete_user_data(confirm=True))
        # It would be done by now if it did not wait.
        wait([erasing], 0.3)
        may_commit.set()
        writing.result(60)
        assert erasing.result(60)["deleted"]["event_vectors"] == 1
    assert empty(ada)


@pytest.mark.conforms("A9.4", "T9")
def test_what_is_begun_inside_of_late_work_is_late_too(
    engine: longmind.Engine, ada: longmind.Context, root: longmind.Context
) -> None:
    """A turn that a job runs would otherwise count the erasures anew."""
    meeting = Meeting()
    refused = []

    def handler(run: longmind.JobRun) -> None:
        meeting.stop()
        # Somebody has come back since, and is not who the job was for.
        (conversation,) = run.context.conversations.list_conversations()
        with pytest.raises(longmind.UserErased) as caught:
            run.context.conversations.run_turn(conversation.id, user_text="Xaver!", model=ScriptedModel(["Oh."]))
        refused.append(caught.value)

    def erase() -> None:
        root.admin.delete_user_data("ada", confirm=True)
        ada.conversations.create_conversation("chat")

    engine.register_job("write", handler)
    ada.jobs.enqueue("write", {})
    report = meeting.erase_meanwhile(engine.work, erase)
    assert isinstance(report, longmind.WorkReport)
    assert (report.lost, len(refused)) == (1, 1)
    assert "Xaver" not in bytes_of(ada)


def write_and_wait(line: Line, url: str) -> longmind.WorkReport:
    """A worker whose transaction has written, and is not committed before the test says so."""
    with longmind.open(url, embedder="none", job_lease_seconds=60) as engine:

        def effect(run: Transaction, scope: longmind.Scope) -> None:
            from longmind.store.tables import conversations
            from longmind.store.tables.conversations import NewConversation

            conversations.create(run, scope, NewConversation("chat", "Xaver again.", None, "{}"), 1)
            line.say("written")
            line.hear()

        engine.register_job("write", lambda run: longmind.Effect(effect, (run.scope,)))
        line.say("ready")
        line.hear()
        return engine.work()


@pytest.mark.conforms("A9.4", "T9")
def test_a_transaction_of_another_process_is_waited_for_and_what_it_wrote_is_erased_too(database_url: str) -> None:
    with (
        longmind.open(database_url, embedder="none") as engine,
        start_process(write_and_wait, database_url) as worker,
        ThreadPoolExecutor(1) as threads,
    ):
        ada = of(engine, "ada")
        assert worker.hear() == "ready"
        ada.jobs.enqueue("write", {})
        worker.say("go")
        assert worker.hear() == "written"
        # It has written and holds what it needs for that; the erasure can only come after it.
        erasing = threads.submit(lambda: ada.admin.delete_user_data(confirm=True))
        worker.say("commit")
        report = worker.result()
        deleted = erasing.result(60)["deleted"]
        # Which of the two was first is left to them; in either case nothing is left.
        assert (report.succeeded, report.lost) in ((1, 0), (0, 1))
        assert deleted["jobs"] == 1
        assert empty(ada)


def recall_when_told(line: Line, url: str, space_id: str) -> str:
    with longmind.open(url, embedder=WordsEmbedder()) as engine:
        memory = of(engine, "ada").memory
        line.say(len(memory.recall_by_topic(space_id, "cat").hits))
        line.hear()
        try:
            memory.recall_by_topic(space_id, "cat")
        except longmind.NotFound:
            return "not found"
        return "found"


@pytest.mark.conforms("A9.4")
def test_what_another_process_has_in_memory_is_not_found_by_it_any_more(
    ada: longmind.Context, database_url: str
) -> None:
    space = live(ada)
    with start_process(recall_when_told, database_url, space.id) as other:
        assert other.hear() > 0
        ada.admin.delete_user_data(confirm=True)
        other.say("ask again")
        assert other.result() == "not found"
    with pytest.raises(longmind.NotFound):
        ada.memory.recall_by_topic(space.id, "cat")


def test_erasures_of_many_users_at_once_each_leave_a_receipt(
    engine: longmind.Engine, root: longmind.Context, bob: longmind.Context
) -> None:
    names = [f"user-{number}" for number in range(6)]
    for name in names:
        live(of(engine, name))
    live(bob)
    with ThreadPoolExecutor(6) as threads:
        done = list(threads.map(lambda name: root.admin.delete_user_data(name, confirm=True), names))
    assert sorted(each["receipt"]["seq"] for each in done) == [1, 2, 3, 4, 5, 6]
    assert all(root.admin.verify_receipt(each["receipt"]) for each in done)
    assert all(empty(of(engine, name)) for name in names)
    assert not empty(bob)
