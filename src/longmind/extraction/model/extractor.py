"""The extractor that asks a language model, and believes only what can be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from longmind.errors import ModelCancelled, ModelFailed, ModelTimedOut
from longmind.extraction.candidate import Candidate, Cost, Extracted, SourceMessage
from longmind.extraction.model.answer_schema import ParsedAnswer, build_answer_schema, read_answer
from longmind.extraction.model.citations import build_candidates
from longmind.extraction.model.prompt_versions import Prompt, load_prompt
from longmind.extraction.model.spend_cap import Budget, CallCost, UnlimitedBudget
from longmind.extraction.model.transcript import TranscriptWindow, split_into_windows
from longmind.models.entity import fold_name
from longmind.providers.language_model import LanguageModel, ModelMessage, ModelReply, ModelRequest
from longmind.providers.prices import Prices

FACTS_A_WINDOW = 40
"""What the prompt asks for at the most."""
ATOMS_A_JOB = 200
"""However long the conversation is, and whatever a model was talked into."""
ANSWER_TOKENS = 8_192

_CHARACTERS_A_TOKEN = 3
"""On the safe side: English has four or five."""


class ModelExtractor:
    """Asks a language model, window by window, for facts in a form that is checked, and asks once more if it is not."""

    def __init__(self, model: LanguageModel, prices: Prices | None = None) -> None:
        self._model = model
        self._prices = prices or Prices()

    @property
    def name(self) -> str:
        return f"model:{self._model.name}"

    @property
    def has_price(self) -> bool:
        """Whether what a call will cost is known before it is made."""
        return self._prices.dollars(self._model.name, 1, 1) is not None

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        extracted, _ = self.extract_within(messages, version, UnlimitedBudget())
        return extracted

    def extract_within(
        self, messages: Sequence[SourceMessage], version: str, budget: Budget
    ) -> tuple[Extracted, list[SourceMessage]]:
        """Go as far as the budget does; gives what was found, and the messages that were not read, in their context."""
        asking = _Asking(self._model, self._prices, budget, load_prompt(version))
        windows = split_into_windows(messages)
        found: list[Candidate] = []
        for place, window in enumerate(windows):
            reading = asking.read(window)
            if reading is None:
                return Extracted(_best(found), asking.cost), _unread(messages, windows[place:])
            found += build_candidates(reading.facts, window, messages)
        return Extracted(_best(found), asking.cost), []


@dataclass
class _Asking:
    """The calls of one extraction, and what they have cost so far."""

    model: LanguageModel
    prices: Prices
    budget: Budget
    prompt: Prompt
    cost: Cost = field(default_factory=Cost)

    def read(self, window: TranscriptWindow) -> ParsedAnswer | None:
        """What the model finds in a window; None when the budget is used up."""
        fence = window.fence
        prompt = self.prompt.fill(boundary=fence.boundary, most_facts=FACTS_A_WINDOW)
        asked = ModelMessage("user", str(fence))
        reply = self._ask(prompt, [asked])
        if reply is None:
            return None
        first = read_answer(reply.text, self.prompt.version)
        if not first.complaints:
            return first
        mend = ModelMessage("user", _mending(first, cut_off=reply.stop_reason == "max_tokens"))
        reply = self._ask(prompt, [asked, ModelMessage("assistant", reply.text or "(nothing)"), mend])
        if reply is None:
            return first if first.usable else None
        second = read_answer(reply.text, self.prompt.version)
        if second.usable:
            return second
        if first.usable:
            # Some of it was right.
            return first
        raise ModelFailed(
            f"The model {self.model.name!r} gave no list of facts, asked twice. {second.complaints[0]}",
            hint="Choose a model that can keep to a JSON schema, or the rules extractor.",
        )

    def _ask(self, prompt: str, messages: list[ModelMessage]) -> ModelReply | None:
        characters = len(prompt) + sum(len(block.model_dump_json()) for each in messages for block in each.blocks)
        asked = characters // _CHARACTERS_A_TOKEN
        most = CallCost(asked + ANSWER_TOKENS, self.prices.dollars(self.model.name, asked, ANSWER_TOKENS))
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
            # The vendor may have worked on it all the same, so what was set aside stays spent.
            raise
        except Exception:
            self.budget.settle(most, CallCost(0, 0.0))
            raise
        self.budget.settle(most, self._spent(reply))
        return reply

    def _spent(self, reply: ModelReply) -> CallCost:
        asked, said = reply.usage.input_tokens or 0, reply.usage.output_tokens or 0
        dollars = self.prices.price_reply(self.model.name, reply)
        known = self.cost.dollars if self.cost != Cost() else 0.0
        self.cost = Cost(
            self.cost.input_tokens + asked,
            self.cost.output_tokens + said,
            None if known is None or dollars is None else known + dollars,
        )
        return CallCost(asked + said, dollars)


def _mending(reading: ParsedAnswer, *, cut_off: bool) -> str:
    """What a model is told that has not kept to the form. The complaints quote nothing of the transcript."""
    if cut_off:
        return (
            "Your answer was cut off because it was too long. Answer again with the whole JSON object, and with no more"
            f" than the {FACTS_A_WINDOW // 2} most important facts."
        )
    wrong = "\n".join(f"- {complaint}" for complaint in reading.complaints[:20])
    return f"Your answer does not have the form that was asked for:\n{wrong}\nAnswer again with the whole JSON object."


def _unread(messages: Sequence[SourceMessage], windows: Sequence[TranscriptWindow]) -> list[SourceMessage]:
    unread = {line.message.id for window in windows for line in window.lines if not line.context}
    return [each if each.id in unread else replace(each, read_only=True) for each in messages]


def _best(found: Sequence[Candidate]) -> list[Candidate]:
    """Each fact once, and of too many the most important, in the order they were said."""
    # A later window may see a fact again that an earlier one has found.
    firsts: dict[tuple[str, str], Candidate] = {}
    for candidate in found:
        firsts.setdefault((candidate.kind, fold_name(candidate.text)), candidate)
    once = list(firsts.values())
    kept = sorted(range(len(once)), key=lambda place: (-once[place].importance, -once[place].confidence, place))
    return [once[place] for place in sorted(kept[:ATOMS_A_JOB])]
