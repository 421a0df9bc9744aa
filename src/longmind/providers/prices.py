"""Prices of model calls: the host's first, then the list that comes with pydantic-ai."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from longmind.errors import InvalidInput
from longmind.providers.language_model import ModelReply

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float


@dataclass(frozen=True)
class Prices:
    """The prices that the host has set, before those of the public list."""

    given: Mapping[str, Price] = field(default_factory=dict)
    """The host's prices by `vendor:model`."""

    @classmethod
    def read(cls, text: str) -> Prices:
        """Parse `openai:gpt-5-mini=0.25/2, ollama:llama3=0/0`: dollars for a million tokens, in and out.

        Raises InvalidInput for an entry of another form.
        """
        given = {}
        for entry in filter(None, (part.strip() for part in text.split(","))):
            model, _, price = entry.rpartition("=")
            try:
                input, output = (float(number) for number in price.split("/"))
            except ValueError:
                input = output = -1.0
            if not model.strip() or not (0 <= input < _MILLION and 0 <= output < _MILLION):
                raise InvalidInput(
                    f"model_prices has the entry {entry!r}.",
                    hint="Write vendor:model=in/out in dollars for a million tokens, like openai:gpt-5-mini=0.25/2.",
                )
            given[model.strip()] = Price(input, output)
        return cls(given)

    def dollars(self, model: str, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost of tokens of a model; None if its price is unknown."""
        price = self.given.get(model)
        if price is not None:
            return (input_tokens * price.input + output_tokens * price.output) / _MILLION
        return _find_listed_price(model, input_tokens, output_tokens)

    def price_reply(self, model: str, reply: ModelReply) -> float | None:
        """Return the cost of a call; None if it is unknown.

        The host's price wins, since it knows its contract. The vendor's own figure comes next: it includes discounts.
        """
        if model not in self.given and reply.dollars is not None:
            return reply.dollars
        return self.dollars(model, reply.usage.input_tokens or 0, reply.usage.output_tokens or 0)


def _find_listed_price(model: str, input_tokens: int, output_tokens: int) -> float | None:
    """Return the cost by the public price list; None if the list is not installed or lacks the model."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    vendor, _, name = model.partition(":")
    # openai-chat and openai-responses are APIs of the same vendor.
    for provider in dict.fromkeys((vendor, vendor.partition("-")[0])):
        try:
            usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
            return float(calc_price(usage, name, provider_id=provider).total_price)
        except (LookupError, ValueError):
            continue
    return None
