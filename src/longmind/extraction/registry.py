"""From the name of an extractor to one that works, within the budget of whose conversation it reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from longmind.clock import Clock
from longmind.errors import InvalidInput
from longmind.extraction.candidate import Extractor
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.prices import Prices
from longmind.providers.registry import choose_model
from longmind.scope import Scope
from longmind.settings import Settings
from longmind.store.database import Database

if TYPE_CHECKING:
    from longmind.extraction.model.extractor import ModelExtractor

RULES = "rules"
_MODEL = "model:"

ExtractorOf = Callable[[Scope], Extractor]


def choose_extractor(
    chosen: str | Extractor | None, settings: Settings, loop: BackgroundLoop, database: Database, clock: Clock
) -> ExtractorOf | None:
    """What gives the extractor for a scope: `rules`, `model:<vendor:model>`, or an object; None for none.

    A model is looked for at once, so that a name or a key that is wrong is known when the engine is opened. Rules are
    loaded when they are first needed. The spend cap holds for models by name and for `ModelExtractor`.
    """
    if chosen is None or chosen == "none":
        return None
    if chosen == RULES:
        return lambda scope: _rules()
    # Not loaded by a program that asks no model.
    from longmind.extraction.model.extractor import ModelExtractor
    from longmind.extraction.model.spend_cap import CappedExtractor, TenantBudget

    if isinstance(chosen, str):
        extractor: Extractor = _named(chosen, settings, loop)
    elif isinstance(getattr(chosen, "name", None), str) and callable(getattr(chosen, "extract", None)):
        extractor = chosen
    else:
        raise InvalidInput(
            f"{type(chosen).__name__} is not an extractor.", hint="It needs name and extract(messages, version)."
        )
    if not isinstance(extractor, ModelExtractor) or not _has_cap(extractor, settings):
        return lambda scope: extractor
    capped = extractor
    return lambda scope: CappedExtractor(capped, _rules, TenantBudget(database, scope, settings, clock))


def _named(name: str, settings: Settings, loop: BackgroundLoop) -> ModelExtractor:
    if not name.startswith(_MODEL):
        raise InvalidInput(
            f"extractor is {name!r}.", hint="It is 'rules', 'none', or 'model:' and the name of a language model."
        )
    from longmind.extraction.model.extractor import ModelExtractor

    return ModelExtractor(choose_model(name.removeprefix(_MODEL), loop, settings), Prices.read(settings.model_prices))


def _has_cap(extractor: ModelExtractor, settings: Settings) -> bool:
    dollars, tokens = settings.extraction_spend_cap_dollars, settings.extraction_spend_cap_tokens
    if dollars and not tokens and not extractor.has_price:
        raise InvalidInput(
            f"extraction_spend_cap_dollars cannot be kept: what {extractor.name!r} costs is not known.",
            hint="Give its price in model_prices, or set extraction_spend_cap_tokens as well.",
        )
    return bool(dollars or tokens)


@cache
def _rules() -> Extractor:
    # Not loaded by a program that extracts nothing with them.
    rules: Extractor = import_module("longmind.extraction.rules").RulesExtractor()
    return rules
