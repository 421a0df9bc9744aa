"""Apps that share blocks: a user has one set of them in the whole tenant, and nobody else sees it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

import longmind
from longmind.blocks.fact_merge import merge_facts
from longmind.cli import main
from longmind.scope import EVERYBODY, SharingScope
from longmind.store.tables import blocks as table
from longmind.store.tables.blocks import BlockPlace
from tests.blocks.model_calls import archival, core, talk, update_memory
from tests.clock import SettableClock

SHARING = "support, sales"


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(
        database_url, embedder="none", clock=clock, job_retry_seconds=0.001, apps_sharing_blocks=SHARING
    ) as engine:
        yield engine


def of(engine: longmind.Engine, app_id: str, user_id: str = "ada", **more: Any) -> longmind.Context:
    return engine.context(**{"tenant_id": "acme", "app_id": app_id, "user_id": user_id, **more})


@pytest.fixture
def support(engine: longmind.Engine) -> longmind.Context:
    return of(engine, "support")


@pytest.fixture
def sales(engine: longmind.Engine) -> longmind.Context:
    return of(engine, "sales")


def list_strangers(engine: longmind.Engine) -> list[longmind.Context]:
    """Everybody who must not see the blocks that Ada has in the apps that share them."""
    return [
        of(engine, "billing"),
        of(engine, "billing", capabilities={"admin"}),
        of(engine, "support", "bob"),
        of(engine, "sales", "bob", capabilities={"admin"}),
        of(engine, "support", tenant_id="globex"),
        of(engine, "support", "support"),
    ]


@pytest.mark.conforms("C1", "C5")
@pytest.mark.parametrize("agent_id", [None, "planner"])
@pytest.mark.parametrize("block_type", ["core", "archival"])
def test_a_user_has_one_set_of_blocks_in_the_apps_that_share_them(
    support: longmind.Context, sales: longmind.Context, block_type: Any, agent_id: str | None
) -> None:
    made = support.blocks.update(block_type, "Likes tea.", None, agent_id=agent_id)
    assert sales.blocks.get(block_type, agent_id=agent_id) == made
    with pytest.raises(longmind.BlockConflict) as caught:
        sales.blocks.update(block_type, "Likes milk.", None, agent_id=agent_id)
    assert caught.value.current == made
    changed = sales.blocks.update(block_type, "Likes coffee.", made.updated_at, agent_id=agent_id)
    assert support.blocks.list() == [changed]
    assert [each.content for each in support.blocks.revisions(block_type, agent_id=agent_id)] == ["Likes tea."]
    restored = support.blocks.restore(block_type, 1, changed.updated_at, agent_id=agent_id)
    assert (restored.content, restored.version) == ("Likes tea.", 3)
    sales.blocks.delete(block_type, agent_id=agent_id)
    assert support.blocks.list() == []
    assert support.blocks.revisions(block_type, agent_id=agent_id) == []


@pytest.mark.conforms("C1", "C6", "C7")
def test_prompts_recall_and_tools_of_every_sharing_app_have_them(
    support: longmind.Context, sales: longmind.Context
) -> None:
    assert update_memory(support, edit="add_line", content="Likes tea.").startswith("Done.")
    sales.blocks.update("archival", "Sister Anna lives in Oslo", None)
    assert "- Likes tea." in sales.blocks.user_memory()
    assert [line.content for line in support.blocks.recall("sister")] == ["Sister Anna lives in Oslo"]
    conversation = sales.conversations.create_conversation("chat")
    space = sales.memory.create_memory_space("facts")
    built = sales.working_context.build_working_context(conversation.id, memory_space_id=space.id)
    assert "Likes tea." in built.context_block


@pytest.mark.conforms("C1", "A0.4")
def test_nobody_else_sees_or_touches_them(engine: longmind.Engine, support: longmind.Context) -> None:
    block = support.blocks.update("core", "Likes tea.", None)
    support.blocks.update("archival", "Sister Anna lives in Oslo", None, agent_id="planner")
    before = support.admin.export_user_data()
    for stranger in list_strangers(engine):
        assert stranger.blocks.list() == []
        assert stranger.blocks.user_memory("planner") == ""
        assert stranger.blocks.recall("", agent_id="planner") == []
        assert stranger.blocks.revisions("core") == []
        with pytest.raises(longmind.BlockConflict) as caught:
            stranger.blocks.update("core", "Likes milk.", block.updated_at)
        assert caught.value.current is None
        with pytest.raises(longmind.NotFound):
            stranger.blocks.delete("core")
        stranger.blocks.update("core", "Likes milk.", None)
        export = stranger.admin.export_user_data()
        assert "tea" not in repr(export)
        stranger.admin.delete_user_data(confirm=True)
    assert support.admin.export_user_data() == before


def test_an_app_keeps_its_own_blocks_where_the_engine_shares_none(
    database_url: str, engine: longmind.Engine, support: longmind.Context
) -> None:
    support.blocks.update("core", "Likes tea.", None)
    with longmind.open(database_url, embedder="none") as other:
        alone = of(other, "support")
        assert alone.blocks.list() == []
        alone.blocks.update("core", "Likes milk.", None)
    assert core(support) == ["Likes tea."]


@pytest.mark.conforms("A0.2")
def test_no_caller_can_name_the_owner_of_shared_blocks(engine: longmind.Engine, support: longmind.Context) -> None:
    owner = support.scope.block_owner
    assert isinstance(support.scope, SharingScope)
    assert (owner.tenant_id, owner.app_id, owner.user_id) == ("acme", EVERYBODY, "ada")
    with pytest.raises(longmind.InvalidIdentity, match="reserved"):
        of(engine, EVERYBODY)
    ids = {of(engine, "support", capabilities={"admin"}).scope.block_owner.id, owner.id}
    assert len(ids) == 1
    strangers = [each.scope for each in list_strangers(engine)]
    assert not {owner.id, support.scope.id} & {each.block_owner.id for each in strangers}
    assert owner.id != support.scope.id


def test_all_apps_share_them_where_the_setting_says_so(database_url: str) -> None:
    with longmind.open(database_url, embedder="none", apps_sharing_blocks="*") as engine:
        of(engine, "one").blocks.update("core", "Likes tea.", None)
        assert core(of(engine, "another")) == ["Likes tea."]
        assert of(engine, "another", tenant_id="globex").blocks.list() == []


@pytest.mark.parametrize("setting", [",", "support,", "support, *", "*, *", 7, "a\x00b"])
def test_a_setting_that_names_no_apps_is_refused(setting: Any) -> None:
    with pytest.raises((longmind.InvalidInput, longmind.InvalidIdentity)):
        longmind.open("sqlite:///:memory:", embedder=None, apps_sharing_blocks=setting)


@pytest.mark.conforms("C1", "C11", "C22")
def test_conversations_of_every_sharing_app_update_them(
    engine: longmind.Engine, support: longmind.Context, sales: longmind.Context, clock: SettableClock
) -> None:
    for context in (support, sales, of(engine, "billing")):
        context.blocks.set_sleep_time(True)
    talk(support, "I live in Oslo.", "I bought a red bike yesterday.", close=True)
    engine.work()
    assert core(sales) == ["User lives in Oslo."]
    clock.advance(3600)
    talk(sales, "I moved to Graz.", "I prefer window seats.", close=True)
    talk(of(engine, "billing"), "My name is Ada.", close=True)
    engine.work()
    assert core(support) == ["User moved to Graz.", "User prefers window seats."]
    assert len(archival(support)) == 1
    assert core(of(engine, "billing")) == ["User's name is Ada."]
    (job,) = sales.jobs.list_jobs()
    assert job.status == "succeeded"


@pytest.mark.conforms("C11")
def test_a_writer_in_another_app_does_not_starve_the_job(
    engine: longmind.Engine, support: longmind.Context, sales: longmind.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    support.blocks.set_sleep_time(True)
    talk(support, "I live in Oslo.", close=True)
    merges: list[int] = []
    real = merge_facts

    def merge_while_another_writes(*given: Any) -> Any:
        merges.append(len(merges))
        if len(merges) < 3:
            known = sales.blocks.get("core")
            text = "\n".join([*(known.entries if known else []), f"Entry {len(merges)}"])
            sales.blocks.update("core", text, known.updated_at if known else None)
        return real(*given)

    monkeypatch.setattr("longmind.blocks.sleep_time_job.merge_facts", merge_while_another_writes)
    engine.work()
    assert core(sales) == ["Entry 1", "Entry 2", "User lives in Oslo."]
    assert len(merges) == 3


def test_lines_follow_the_facts_of_sharing_apps_and_of_no_other(
    engine: longmind.Engine, support: longmind.Context, sales: longmind.Context
) -> None:
    def learn(context: longmind.Context, text: str) -> longmind.Atom:
        space = context.memory.create_memory_space("facts")
        return context.memory.add_atom(space.id, {"text": text, "category": {"name": "it", "kind": "FACT"}})

    block = support.blocks.update("core", "- Ada lives in Graz.\nAda has a dog.", None)
    support.blocks.update("core", "- Ada lives in Graz.\nAda has a dog.\nAda sings.", block.updated_at)
    # Another app that knows the same may not touch what it cannot see.
    billing = of(engine, "billing")
    billing.memory.delete_atom(learn(billing, "Ada has a dog.").id)
    assert len(core(sales)) == 3

    atom = learn(sales, "Ada lives in Graz.")
    sales.memory.supersede_atom(atom.id, {"text": "Ada lives in Oslo.", "category": {"name": "it", "kind": "FACT"}})
    assert core(support) == ["- Ada lives in Oslo.", "Ada has a dog.", "Ada sings."]
    sales.memory.delete_atom(learn(sales, "Ada has a dog.").id)
    assert core(support) == ["- Ada lives in Oslo.", "Ada sings."]
    assert "dog" not in repr(support.admin.export_user_data())


@pytest.mark.conforms("A0.6")
def test_a_change_stands_in_the_history_of_the_app_that_made_it(
    engine: longmind.Engine, support: longmind.Context, sales: longmind.Context
) -> None:
    made = support.blocks.update("core", "Likes tea.", None)
    sales.blocks.update("core", "Likes milk.", made.updated_at)
    support.blocks.delete("core")
    found = [(change.kind, change.app_id, change.data["blockId"]) for change in engine.follow()]
    assert found == [
        ("block.created", "support", made.id),
        ("block.updated", "sales", made.id),
        ("block.deleted", "support", made.id),
    ]


@pytest.mark.conforms("A9.2", "C1")
def test_an_erasure_in_a_sharing_app_erases_them_and_leaves_the_rest_of_other_apps(
    engine: longmind.Engine, support: longmind.Context, sales: longmind.Context
) -> None:
    first = support.blocks.update("core", "Likes tea.", None)
    sales.blocks.update("core", "Likes milk.", first.updated_at)
    sales.blocks.update("archival", "Sister Anna lives in Oslo", None, agent_id="planner")
    conversation = talk(sales, "Good morning.")
    messages = sales.conversations.get_messages(conversation.id)
    bob = of(engine, "support", "bob")
    bob.blocks.update("core", "Likes beer.", None)
    root = of(engine, "support", "root", capabilities={"admin"})

    erased = root.admin.delete_user_data("ada", confirm=True)
    assert (erased["deleted"]["tenant_blocks"], erased["deleted"]["tenant_block_revisions"]) == (2, 1)
    assert erased["receipt"]["counts"]["tenant_blocks"] == 2
    assert root.admin.verify_receipt(erased["receipt"])
    assert (support.blocks.list(), sales.blocks.list(), sales.blocks.revisions("core")) == ([], [], [])
    assert sales.conversations.get_messages(conversation.id) == messages
    assert core(bob) == ["Likes beer."]
    assert set(root.admin.delete_user_data("ada", confirm=True)["deleted"].values()) == {0}


def test_a_writer_that_read_before_an_erasure_brings_nothing_back(
    engine: longmind.Engine, support: longmind.Context, sales: longmind.Context
) -> None:
    support.blocks.update("core", "Likes tea.", None)
    place, scope = BlockPlace("core"), sales.scope
    known = engine._database.read(scope.block_owner, table.find, place)
    support.admin.delete_user_data(confirm=True)
    sales.blocks.update("core", "Likes milk.", None)
    # The block was made anew, and its version is the same again.
    late = engine._database.write(
        scope.block_owner, table.write, scope, place, "Likes tea.\nMore.", known, "sleep", engine._clock()
    )
    assert late is None
    assert core(sales) == ["Likes milk."]


@pytest.mark.conforms("A9.1")
@pytest.mark.parametrize("form", ["document", "archive"])
def test_an_export_has_them_and_an_import_brings_them_back(
    request: pytest.FixtureRequest, database_url: str, support: longmind.Context, form: str, tmp_path: Path
) -> None:
    first = support.blocks.update("core", "Likes tea.", None)
    block = support.blocks.update("core", "Likes milk.", first.updated_at)
    support.blocks.update("archival", "Sister Anna lives in Oslo", None, agent_id="planner")
    source: Any = support.admin.export_user_data()
    assert support.admin.export_user_data() == source
    assert [(each["id"], len(each["revisions"])) for each in source["tenant_blocks"]] == [
        (block.id, 1),
        (support.blocks.list()[1].id, 0),
    ]
    assert source["blocks"] == []
    if form == "archive":
        source = tmp_path / "ada.zip"
        lines = support.admin.export_user_archive(source)
        assert (lines["tenant_blocks.jsonl"], lines["tenant_block_revisions.jsonl"]) == (2, 1)
    other = request.getfixturevalue("postgres_url" if database_url.startswith("sqlite") else "sqlite_url")
    with longmind.open(other, embedder="none", apps_sharing_blocks="shop, desk") as engine:
        root = of(engine, "shop", "root", capabilities={"admin"})
        assert root.admin.import_user_data(source, "eve")["imported"]["tenant_blocks"] == 2
        eve = of(engine, "desk", "eve")
        assert [each.content for each in eve.blocks.list()] == ["Likes milk.", "Sister Anna lives in Oslo"]
        assert [each.content for each in eve.blocks.revisions("core")] == ["Likes tea."]
        assert root.blocks.list() == []
        assert set(root.admin.import_user_data(source, "eve")["imported"].values()) == {0}
        # Other apps have gone on writing: what there is stays.
        changed = eve.blocks.update("core", "Likes beer.", block.updated_at)
        eve.blocks.delete("archival", agent_id="planner")
        assert set(root.admin.import_user_data(source, "eve")["imported"].values()) == {0}
        assert eve.blocks.list() == [changed]
        assert [each.content for each in eve.blocks.revisions("core")] == ["Likes milk.", "Likes tea."]
    with longmind.open(other, embedder="none") as engine:
        root = of(engine, "shop", "root", capabilities={"admin"})
        with pytest.raises(longmind.InvalidInput, match="shares none"):
            root.admin.import_user_data(source, "zoe")
        assert of(engine, "shop", "zoe").blocks.list() == []


def test_a_write_and_its_change_are_undone_together(engine: longmind.Engine, support: longmind.Context) -> None:
    class Interrupted(Exception):
        pass

    def write_and_fail(run: Any) -> None:
        table.write(run, support.scope, BlockPlace("core"), "Likes tea.", None, "app", engine._clock())
        raise Interrupted

    with pytest.raises(Interrupted):
        engine._database.write(support.scope.block_owner, write_and_fail)
    assert support.blocks.list() == []
    assert list(engine.follow()) == []
    support.blocks.update("core", "Likes milk.", None)
    assert core(support) == ["Likes milk."]


def test_the_command_line_has_them_by_the_environment(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with longmind.open(sqlite_url, embedder="none", apps_sharing_blocks=SHARING) as engine:
        of(engine, "support").blocks.update("core", "Likes tea.", None)
        for app_id in ("support", "sales", "billing"):
            of(engine, app_id).conversations.create_conversation("chat")

    def list_blocks(app_id: str) -> str:
        with suppress(SystemExit):
            main(["blocks", "list", "--tenant", "acme", "--app", app_id, "--user", "ada", "--url", sqlite_url])
        return capsys.readouterr().out

    assert "There are no blocks." in list_blocks("sales")
    monkeypatch.setenv("LONGMIND_APPS_SHARING_BLOCKS", SHARING)
    assert "core" in list_blocks("sales")
    assert "There are no blocks." in list_blocks("billing")


def test_the_asynchronous_engine_shares_them_too(database_url: str) -> None:
    async def share() -> list[str]:
        async with longmind.open_async(database_url, embedder="none", apps_sharing_blocks=SHARING) as engine:
            await engine.context(tenant_id="acme", app_id="support", user_id="ada").blocks.update("core", "Tea.", None)
            block = await engine.context(tenant_id="acme", app_id="sales", user_id="ada").blocks.get("core")
            return block.entries if block else []

    assert asyncio.run(share()) == ["Tea."]


@pytest.mark.conforms("C1", "A0.4")
@pytest.mark.parametrize("reader", ["the app", "a stranger", "the owner of the blocks"])
def test_the_second_wall_stands_around_them(postgres_url: str, reader: str) -> None:
    with longmind.open(postgres_url, embedder="none", apps_sharing_blocks=SHARING) as engine:
        ada = of(engine, "support")
        made = ada.blocks.update("core", "Likes tea.", None)
        ada.blocks.update("core", "Likes milk.", made.updated_at)
        scope = {
            "the app": ada.scope,
            "a stranger": of(engine, "sales", "bob").scope.block_owner,
            "the owner of the blocks": ada.scope.block_owner,
        }[reader]
    rows = 1 if reader == "the owner of the blocks" else 0
    with psycopg.connect(postgres_url, options="-c search_path=longmind", autocommit=True) as connection:
        connection.execute("SET ROLE longmind_app")
        connection.execute("SELECT set_config('longmind.scope', %s, false)", (scope.id,))
        for name in (b"blocks", b"block_revisions"):
            assert len(connection.execute(b"SELECT * FROM " + name).fetchall()) == rows
            assert connection.execute(b"DELETE FROM " + name).rowcount == rows


@pytest.mark.conforms("A9.2")
def test_an_erasure_gets_through_while_another_app_writes(
    engine: longmind.Engine, support: longmind.Context, sales: longmind.Context
) -> None:
    update_memory(support, edit="add_line", content="Likes tea.")
    stop, written = threading.Event(), 0

    def write() -> None:
        nonlocal written
        while not stop.is_set():
            line = {"content": f"Entry {written}", "edit": "add_line" if written % 15 else "replace_all"}
            known = sales.blocks.get("core")
            answer = update_memory(sales, expected_updated_at=known.updated_at if known else None, **line)
            assert answer.startswith("Done."), answer
            written += 1
            # As fast as models write, and not so fast that no moment is left.
            time.sleep(0.05)

    with ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        try:
            for _ in range(5):
                before = written
                while written < before + 3 and not writer.done():
                    time.sleep(0.001)
                support.admin.delete_user_data(confirm=True)
        finally:
            stop.set()
        writer.result()
    assert "Likes tea." not in core(sales)
    sales.admin.delete_user_data(confirm=True)
    assert (support.blocks.list(), support.blocks.revisions("core")) == ([], [])
