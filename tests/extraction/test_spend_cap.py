"""The spend cap on models: kept in the database, shared by all workers, and never a reason to lose facts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from longmind.clock import to_micros
from longmind.extraction.candidate import Candidate, Extracted, Extractor, SourceMessage
from longmind.extraction.extractor_registry import choose_extractor
from longmind.extraction.model.extractor import ANSWER_TOKENS, ModelExtractor
from longmind.extraction.model.spend_cap import CappedExtractor, TenantBudget
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.language_model import ModelReply, ModelRequest
from longmind.providers.prices import Prices
from longmind.providers.testing import ScriptedModel
from longmind.scope import Scope, TenantScope
from longmind.settings import Settings
from longmind.store.tables import spend
from tests.extraction.model_answers import fact, facts, new_numbers, user_message

V1 = "extraction-v1"
ADA, BOB, OTHER = Scope("acme", "support", "ada"), Scope("acme", "support", "bob"), Scope("rival", "support", "ada")
MARCH, APRIL = to_micros("2026-03-31T23:59:00Z"), to_micros("2026-04-01T00:01:00Z")
TALK = [user_message("msg_a", "I live in Graz.")]
MODEL = "house:model"


class EchoExtractor:
    """An extractor without a model, which returns every message as a fact."""

    name = "echo"

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        new = [message for message in messages if not message.read_only]
        return Extracted([Candidate(each.text, "said", "FACT", each.role, (each.id,)) for each in new])


def answer(request: ModelRequest) -> dict[str, Any]:
    return facts(*(fact(f"Seen {number}.", sources=[number]) for number in new_numbers(request)))


def build_reply(tokens: int) -> Callable[[ModelRequest], ModelReply]:
    """Return a function whose replies cost a number of tokens."""

    def reply(request: ModelRequest) -> ModelReply:
        (block,) = ScriptedModel([answer(request)]).ask(request).content
        return ModelReply(
            [block], "end_turn", longmind.Usage(input_tokens=tokens - 1, output_tokens=1), "model", "house"
        )

    return reply


class Tenants:
    """Capped extractors of one engine for several tenants."""

    def __init__(self, engine: longmind.Engine, **caps: Any) -> None:
        self.engine = engine
        self.settings = Settings(**caps)
        self.now = MARCH
        self.model = ScriptedModel(build_reply(1_000), name=MODEL)
        self.prices = Prices.read(f"{MODEL}=1000/1000")

    def extract(self, scope: Scope = ADA, talk: Sequence[SourceMessage] = TALK) -> Extracted:
        budget = TenantBudget(self.engine._database, scope, self.settings, lambda: self.now)
        return CappedExtractor(ModelExtractor(self.model, self.prices), EchoExtractor, budget).extract(talk, V1)

    def spent(self, scope: Scope = ADA, month: str = "2026-03") -> spend.SpendAmount:
        return self.engine._database.read(TenantScope.from_scope(scope), spend.read_spent, month)


def texts(extracted: Extracted) -> list[str]:
    return [candidate.text for candidate in extracted.candidates]


def test_once_the_cap_is_reached_another_extractor_takes_over(engine: longmind.Engine) -> None:
    # A call costs a dollar.
    tenants = Tenants(engine, extraction_spend_cap_dollars=2.0)

    found = [tenants.extract() for _ in range(4)]

    assert [texts(each) for each in found] == [["Seen m1."], ["Seen m1."], ["I live in Graz."], ["I live in Graz."]]
    assert [each.note is None for each in found] == [True, True, False, False]
    assert found[2].note == "The spend cap of the month is reached: echo read 1 of the messages."
    assert [each.cost.dollars for each in found[:2]] == [1.0, 1.0]
    assert found[2].cost.input_tokens == 0
    assert tenants.spent() == spend.SpendAmount(2_000_000, 2_000)
    assert len(tenants.model.requests) == 2


def test_a_cap_in_tokens_needs_no_price(engine: longmind.Engine) -> None:
    tenants = Tenants(engine, extraction_spend_cap_tokens=2_500)
    tenants.prices = Prices()
    assert [texts(tenants.extract()) for _ in range(4)] == [["Seen m1."]] * 3 + [["I live in Graz."]]
    assert tenants.spent() == spend.SpendAmount(0, 3_000)


def test_the_cap_is_of_a_tenants_app_and_all_of_its_users_share_it(engine: longmind.Engine) -> None:
    tenants = Tenants(engine, extraction_spend_cap_dollars=1.0)
    assert tenants.extract(ADA).note is None
    assert tenants.extract(BOB).note is not None
    assert tenants.extract(OTHER).note is None
    assert tenants.extract(Scope("acme", "sales", "ada")).note is None
    assert tenants.spent(OTHER).tokens == 1_000


def test_a_new_month_begins_with_a_new_budget(engine: longmind.Engine) -> None:
    tenants = Tenants(engine, extraction_spend_cap_dollars=1.0)
    assert [tenants.extract().note is None for _ in range(2)] == [True, False]
    tenants.now = APRIL
    assert [tenants.extract().note is None for _ in range(2)] == [True, False]
    assert tenants.spent(month="2026-03") == tenants.spent(month="2026-04")


def test_a_cap_survives_a_restart(database_url: str) -> None:
    with longmind.open(database_url) as engine:
        assert Tenants(engine, extraction_spend_cap_dollars=1.0).extract().note is None
    with longmind.open(database_url) as engine:
        assert Tenants(engine, extraction_spend_cap_dollars=1.0).extract().note is not None
        assert Tenants(engine, extraction_spend_cap_dollars=2.0).extract().note is None


def test_facts_found_before_the_cap_was_reached_are_kept(engine: longmind.Engine) -> None:
    talk = [user_message(f"msg_{number}", f"Remark {number}: {'blah ' * 1_000}") for number in range(1, 21)]
    tenants = Tenants(engine, extraction_spend_cap_dollars=2.0)
    extracted = tenants.extract(talk=talk)
    sources = [candidate.source_message_ids[0] for candidate in extracted.candidates]
    assert sources == [message.id for message in talk]
    by_model = [text for text in texts(extracted) if text.startswith("Seen")]
    assert 0 < len(by_model) < len(talk)
    assert extracted.note is not None
    assert f"read {len(talk) - len(by_model)} of" in extracted.note
    assert extracted.cost.dollars == 2.0


def test_workers_exceed_the_cap_by_one_call_each_at_most(database_url: str) -> None:
    # Two engines share the database as two processes do.
    with longmind.open(database_url) as here, longmind.open(database_url) as there:
        both = [Tenants(engine, extraction_spend_cap_tokens=20_000) for engine in (here, there)]
        workers = 6
        together = threading.Barrier(workers)

        def work(number: int) -> int:
            together.wait(60)
            return sum(both[number % 2].extract().note is None for _ in range(6))

        with ThreadPoolExecutor(workers) as threads:
            asked = sum(threads.map(work, range(workers)))
        assert both[0].spent().tokens == asked * 1_000
        assert 1 <= asked <= 20 + workers
        # What was set aside for calls and not used is there for others.
        while both[0].extract().note is None:
            asked += 1
        assert 20 <= asked <= 20 + workers
        assert both[1].spent().tokens == asked * 1_000
        assert both[1].extract().note is not None


def test_the_most_that_a_call_may_cost_is_reserved_during_the_call(engine: longmind.Engine) -> None:
    tenants = Tenants(engine, extraction_spend_cap_tokens=ANSWER_TOKENS)
    seen: list[int] = []

    def look(request: ModelRequest) -> ModelReply:
        seen.append(tenants.spent().tokens)
        return build_reply(1_000)(request)

    tenants.model = ScriptedModel(look, name=MODEL)
    tenants.extract()
    assert ANSWER_TOKENS < seen[0] < 2 * ANSWER_TOKENS
    assert tenants.spent().tokens == 1_000


def test_a_call_that_was_refused_costs_nothing(engine: longmind.Engine) -> None:
    tenants = Tenants(engine, extraction_spend_cap_tokens=10_000)
    tenants.model = ScriptedModel([longmind.ModelFailed("No.")], name=MODEL)
    with pytest.raises(longmind.ModelFailed):
        tenants.extract()
    assert tenants.spent() == spend.SpendAmount(0, 0)


def test_a_call_that_timed_out_is_charged_in_full(engine: longmind.Engine) -> None:
    tenants = Tenants(engine, extraction_spend_cap_tokens=5_000)
    tenants.model = ScriptedModel([longmind.ModelTimedOut("Late.")], name=MODEL)
    with pytest.raises(longmind.ModelTimedOut):
        tenants.extract()
    assert tenants.spent().tokens > ANSWER_TOKENS
    assert tenants.extract().note is not None


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()


@pytest.fixture
def choose(engine: longmind.Engine, loop: BackgroundLoop) -> Callable[..., Extractor | None]:
    def choose(chosen: Any, **settings: Any) -> Extractor | None:
        chosen_for = choose_extractor(chosen, Settings(**settings), loop, engine._database, lambda: MARCH)
        return None if chosen_for is None else chosen_for(ADA)

    return choose


def test_an_extractor_is_chosen_by_name_or_given(
    choose: Callable[..., Extractor | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    named = choose("model:openai:gpt-5-mini")
    assert isinstance(named, ModelExtractor)
    assert named.name == "model:openai:gpt-5-mini"
    own = EchoExtractor()
    assert choose(own, extraction_spend_cap_tokens=1) is own
    assert choose(None) is None
    assert choose("none") is None


@pytest.mark.parametrize("wrong", ["", "rule", "model", "model:", "model:gpt", "openai:gpt-5-mini", 7, object()])
def test_an_invalid_extractor_is_refused(choose: Callable[..., Extractor | None], wrong: object) -> None:
    with pytest.raises(longmind.InvalidInput):
        choose(wrong)


def test_a_cap_is_put_on_a_model(choose: Callable[..., Extractor | None]) -> None:
    extractor = ModelExtractor(ScriptedModel([facts(fact())]))
    capped = choose(extractor, extraction_spend_cap_tokens=10_000)
    assert isinstance(capped, CappedExtractor)
    assert capped.name == "model:scripted:model"
    assert texts(capped.extract(TALK, V1)) == ["The user lives in Graz."]
    assert choose(extractor) is extractor


def test_a_cap_in_dollars_needs_a_price(choose: Callable[..., Extractor | None]) -> None:
    extractor = ModelExtractor(ScriptedModel([], name=MODEL))
    with pytest.raises(longmind.InvalidInput, match="house:model") as unknown:
        choose(extractor, extraction_spend_cap_dollars=5)
    assert "model_prices" in unknown.value.hint
    priced = ModelExtractor(ScriptedModel([], name=MODEL), Prices.read(f"{MODEL}=1/1"))
    assert isinstance(choose(priced, extraction_spend_cap_dollars=5), CappedExtractor)
    assert isinstance(choose(extractor, extraction_spend_cap_dollars=5, extraction_spend_cap_tokens=5), CappedExtractor)


@pytest.mark.parametrize("cap", [-1, "much", float("nan"), 10**13])
def test_an_invalid_cap_is_refused(sqlite_url: str, cap: object) -> None:
    with pytest.raises(longmind.InvalidInput, match="extraction_spend_cap_dollars"):
        longmind.open(sqlite_url, extraction_spend_cap_dollars=cap)  # type: ignore[arg-type]  # a mistake on purpose
