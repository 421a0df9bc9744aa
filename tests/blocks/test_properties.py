"""What holds for any use of a block: it is as a plain list of versions in the test would have it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import longmind
from longmind.store.tables.blocks import REVISIONS_KEPT
from tests.clock import SettableClock

contents = st.text(st.sampled_from("ab \n\r\U0001f9e0"), max_size=30)
places = st.sampled_from([None, "planner"])


class Versions:
    """A block as the test has it: all that it held since it was made, and the instants."""

    def __init__(self) -> None:
        self.held: list[longmind.Block] = []
        self.newest = ""

    @property
    def current(self) -> longmind.Block | None:
        return self.held[-1] if self.held else None

    @property
    def instant(self) -> str | None:
        return self.held[-1].updated_at if self.held else None

    def take(self, block: longmind.Block, content: str) -> None:
        assert block.content == content.replace("\r\n", "\n").replace("\r", "\n")
        assert block.updated_at > self.newest
        self.newest = block.updated_at
        self.held.append(block)


@pytest.mark.conforms("C2", "C13", "C14", "C18", "T16")
def test_a_block_is_what_the_last_write_that_had_seen_it_made_it(engine: longmind.Engine, clock: SettableClock) -> None:
    users = iter(range(10_000))

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            user = f"user {next(users)}"
            self.blocks = engine.context(tenant_id="acme", app_id="support", user_id=user).blocks
            self.versions: dict[str | None, Versions] = {None: Versions(), "planner": Versions()}
            self.seen: list[str | None] = [None, "2026-03-01T09:29:59Z"]

        @rule(seconds=st.sampled_from([-5, 0, 0.000001, 1]))
        def time_goes(self, seconds: float) -> None:
            clock.advance(seconds)

        @rule(agent=places, content=contents)
        def who_has_seen_it_writes(self, agent: str | None, content: str) -> None:
            versions = self.versions[agent]
            versions.take(self.blocks.update("core", content, versions.instant, agent_id=agent), content)
            self.seen.append(versions.instant)

        @rule(agent=places, content=contents, data=st.data())
        def who_has_read_it_some_time_writes(self, agent: str | None, content: str, data: st.DataObject) -> None:
            read = data.draw(st.sampled_from(self.seen))
            versions = self.versions[agent]
            if read == versions.instant:
                return
            with pytest.raises(longmind.BlockConflict) as caught:
                self.blocks.update("core", content, read, agent_id=agent)
            assert caught.value.current == versions.current

        @precondition(lambda self: any(len(each.held) > 1 for each in self.versions.values()))
        @rule(data=st.data())
        def one_is_restored(self, data: st.DataObject) -> None:
            agent = data.draw(st.sampled_from([name for name, each in self.versions.items() if len(each.held) > 1]))
            versions = self.versions[agent]
            chosen = data.draw(st.sampled_from(versions.held[:-1]))
            restored = self.blocks.restore("core", chosen.version, versions.instant, agent_id=agent)
            versions.take(restored, chosen.content)
            self.seen.append(versions.instant)

        @rule(agent=places)
        def it_is_deleted(self, agent: str | None) -> None:
            versions = self.versions[agent]
            if versions.current is None:
                with pytest.raises(longmind.NotFound):
                    self.blocks.delete("core", agent_id=agent)
                return
            self.blocks.delete("core", agent_id=agent, expected_updated_at=versions.instant)
            versions.held.clear()

        @invariant()
        def it_reads_as_it_was_written(self) -> None:
            for agent, versions in self.versions.items():
                assert self.blocks.get("core", agent_id=agent) == versions.current
                before = self.blocks.revisions("core", agent_id=agent, limit=REVISIONS_KEPT)
                held = [(block.version, block.content) for block in reversed(versions.held[:-1])]
                assert [(each.revision, each.content) for each in before] == held

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        ),
    )
