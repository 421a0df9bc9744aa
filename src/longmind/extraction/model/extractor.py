"""The extractor that asks a language model, window by window, and accepts only what can be checked.

An answer that does not keep to the schema is sent back once with complaints. A budget is asked before every call; the
messages that it does not cover are returned unread, so that another extractor can take over. A prompt that decides
about known facts shows the same ones with every window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from longmind.errors import ModelCancelled, ModelFailed, ModelTimedOut
from longmind.extraction.candidate import Candidate, Cost, Extracted, Extractor, KnownFact, SourceMessage
from longmind.extraction.model.answer_schema import FACTS, FactV3, ParsedAnswer, build_answer_schema, read_answer
from longmind.extraction.model.citations import build_candidates, count_unknown
from longmind.extraction.model.numbered_facts import NumberedFacts
from longmind.extraction.model.prompt_versions import Prompt, load_prompt
from longmind.extraction.model.spend_cap import Budget, CallCost, CappedExtractor, UnlimitedBudget
from longmind.extraction.model.transcript import TranscriptWindow, split_into_windows
from longmind.models.entity import fold_name
from longmind.providers.language_model import LanguageModel, ModelMessage, ModelReply, ModelRequest
from longmind.providers.prices import Prices

FACTS_A_WINDOW = 40
"""Facts that the prompt asks for at most."""
ATOMS_A_JOB = 200
"""Candidates of one extraction at most, however long the conversation is and whatever a model was talked into."""
ANSWER_TOKENS = 8_192

_CHARACTERS_A_TOKEN = 3
"""Deliberately low, so that costs are not underestimated: English has four or five."""


class ModelExtractor:
    """Asks a language model for the facts in a conversation."""

    def __init__(self, model: LanguageModel, prices: Prices | None = None) -> None:
        self._model = model
        self._prices = prices or Prices()

    @property
    def name(self) -> str:
        """The name by which the model is chosen in the settings."""
        return f"model:{self._model.name}"

    @property
    def has_price(self) -> bool:
        """True if the cost of a call is known before it is made."""
        return self._prices.dollars(self._model.name, 1, 1) is not None

    def wants_known_facts(self, version: str) -> bool:
        """Return whether a version of the prompt decides about known facts."""
        return issubclass(FACTS[load_prompt(version).version], FactV3)

    def extract(self, messages: Sequence[SourceMessage], version: str, known: Sequence[KnownFact] = ()) -> Extracted:
        """Return the candidates in messages, without a limit on the cost.

        known: what is known about the same subjects, for the versions that decide about it.

        Raises `ModelFailed` if the model gives no usable answer twice, and the errors of the model's calls.
        """
        extracted, _ = self.extract_within(messages, version, UnlimitedBudget(), known)
        return extracted

    def limit(self, fallback: Callable[[], Extractor], budget: Budget) -> CappedExtractor:
        """Return this extractor within a budget, with another one for the messages that are left then."""
        return CappedExtractor(self, fallback, budget)

    def extract_within(
        self, messages: Sequence[SourceMessage], version: str, budget: Budget, known: Sequence[KnownFact] = ()
    ) -> tuple[Extracted, list[SourceMessage]]:
        """Extract as far as a budget allows.

        Returns what was found, and the messages that were not read, with the others as read-only context.
        """
        shown = NumberedFacts(known if self.wants_known_facts(version) else ())
        calls = _ExtractionCalls(self._model, self._prices, budget, load_prompt(version), shown)
        windows = split_into_windows(messages)
        found: list[Candidate] = []
        unread: list[SourceMessage] = []
        unknown = 0
        for place, window in enumerate(windows):
            answer = calls.read(window)
            if answer is None:
                unread = _mark_unread(messages, windows[place:])
                break
            found += build_candidates(answer.facts, window, messages, shown)
            unknown += count_unknown(answer.facts, shown)
        note = f"Facts that named an unknown fact and were only added: {unknown}." if unknown else None
        return Extracted(_select_best(found), calls.cost, note), unread


@dataclass
class _ExtractionCalls:
    """The model calls of one extraction, and their cost so far."""

    model: LanguageModel
    prices: Prices
    budget: Budget
    prompt: Prompt
    known: NumberedFacts
    cost: Cost = field(default_factory=Cost)

    def read(self, window: TranscriptWindow) -> ParsedAnswer | None:
        """Return the facts that the model finds in a window, or None if the budget is used up before a usable answer.

        A faulty answer is asked for once more, with a complaint. Raises ModelFailed if neither answer is usable.
        """
        fence = replace(window.fence, known_facts=self.known.lines)
        prompt = self.prompt.fill(boundary=fence.boundary, most_facts=FACTS_A_WINDOW)
        transcript = ModelMessage("user", str(fence))
        reply = self._ask(prompt, [transcript])
        if reply is None:
            return None
        first = read_answer(reply.text, self.prompt.version)
        if not first.complaints:
            return first
        complaint = ModelMessage("user", _write_complaint(first, cut_off=reply.stop_reason == "max_tokens"))
        reply = self._ask(prompt, [transcript, ModelMessage("assistant", reply.text or "(nothing)"), complaint])
        if reply is None:
            return first if first.usable else None
        second = read_answer(reply.text, self.prompt.version)
        if second.usable:
            return second
        if first.usable:
            # The first answer was right in part.
            return first
        raise ModelFailed(
            f"The model {self.model.name!r} returned no list of facts in two attempts. {second.complaints[0]}",
            hint="Choose a model that can follow a JSON schema, or the rules extractor.",
        )

    def _ask(self, prompt: str, messages: list[ModelMessage]) -> ModelReply | None:
        """Make one call within the budget, or return None if the budget is used up."""
        characters = len(prompt) + sum(len(block.model_dump_json()) for each in messages for block in each.blocks)
        input_tokens = characters // _CHARACTERS_A_TOKEN
        most = CallCost(input_tokens + ANSWER_TOKENS, self.prices.dollars(self.model.name, input_tokens, ANSWER_TOKENS))
        if not self.budget.reserve(most):
            return None
        request = ModelRequest(
            messages,
            system=prompt,
            output_schema=build_answer_schema(self.prompt.version),
            max_tokens=ANSWER_TOKENS,
            temperature=0.0,
        )
        try:
            reply = self.model.ask(request)
        except (ModelTimedOut, ModelCancelled):
            # The vendor may charge for it all the same, so the reserved amount stays spent.
            raise
        except Exception:
            self.budget.settle(most, CallCost(0, 0.0))
            raise
        self.budget.settle(most, self._add_cost(reply))
        return reply

    def _add_cost(self, reply: ModelReply) -> CallCost:
        """Add the cost of a reply to that of the extraction, and return it."""
        input_tokens, output_tokens = reply.usage.input_tokens or 0, reply.usage.output_tokens or 0
        dollars = self.prices.price_reply(self.model.name, reply)
        known = self.cost.dollars if self.cost != Cost() else 0.0
        self.cost = Cost(
            self.cost.input_tokens + input_tokens,
            self.cost.output_tokens + output_tokens,
            None if known is None or dollars is None else known + dollars,
        )
        return CallCost(input_tokens + output_tokens, dollars)


def _write_complaint(answer: ParsedAnswer, *, cut_off: bool) -> str:
    """Return the message to a model whose answer was wrong. It quotes nothing of the transcript."""
    if cut_off:
        return (
            "Your answer was cut off because it was too long. Answer again with the whole JSON object, and with no more"
            f" than the {FACTS_A_WINDOW // 2} most important facts."
        )
    wrong = "\n".join(f"- {complaint}" for complaint in answer.complaints[:20])
    return f"Your answer does not have the form that was asked for:\n{wrong}\nAnswer again with the whole JSON object."


def _mark_unread(messages: Sequence[SourceMessage], windows: Sequence[TranscriptWindow]) -> list[SourceMessage]:
    """Return the messages with only those in the given windows as new."""
    unread = {line.message.id for window in windows for line in window.lines if not line.context}
    return [each if each.id in unread else replace(each, read_only=True) for each in messages]


def _select_best(found: Sequence[Candidate]) -> list[Candidate]:
    """Return each fact once, and of too many the most important, in the order in which they were said."""
    # A window may repeat a fact of its context, which an earlier window has found.
    firsts: dict[tuple[str, str], Candidate] = {}
    for candidate in found:
        firsts.setdefault((candidate.kind, fold_name(candidate.text)), candidate)
    once = list(firsts.values())
    ranked = sorted(range(len(once)), key=lambda place: (-once[place].importance, -once[place].confidence, place))
    return [once[place] for place in sorted(ranked[:ATOMS_A_JOB])]
