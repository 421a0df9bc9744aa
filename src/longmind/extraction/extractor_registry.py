"""Choice of an extractor by its name, with the spend cap of the tenant whose conversation it reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from longmind.clock import Clock
from longmind.errors import InvalidInput
from longmind.extraction.candidate import Extractor
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.prices import Prices
from longmind.providers.provider_registry import choose_model
from longmind.scope import Scope
from longmind.settings import Settings
from longmind.store.database import Database

if TYPE_CHECKING:
    from longmind.extraction.model.extractor import ModelExtractor
    from longmind.providers.local.text_encoder import TextEncoder

LOCAL = "local"
RULES = "rules"
_MODEL = "model:"

ExtractorOf = Callable[[Scope], Extractor]
"""A function that returns the extractor for a user's conversations."""
EncoderSource: TypeAlias = "Callable[[], TextEncoder | None]"


def choose_extractor(
    chosen: str | Extractor | None,
    settings: Settings,
    loop: BackgroundLoop,
    database: Database,
    clock: Clock,
    find_encoder: EncoderSource = lambda: None,
) -> ExtractorOf | None:
    """Return a function from a scope to its extractor, or None for no extraction.

    chosen: `local`, `rules`, `none`, `model:<vendor:model>`, or an extractor. A model is set up at once, so that a
        wrong name or key is reported when the engine is opened; the local reader and the rules are loaded on first use.
    find_encoder: returns the encoder of the local embedder, for the local reader, or None if there is none; it is
        called when the first conversation is read.

    The spend cap applies to models by name and to `ModelExtractor`. Raises `InvalidInput` for an unknown name, for an
    object that is no extractor, and for a cap in dollars on a model whose price is not known.
    """
    if chosen is None or chosen == "none":
        return None
    if chosen == RULES:
        return lambda scope: _load_rules()
    if chosen == LOCAL:
        return _LocalReaders(find_encoder)
    # Imported on use: a program that calls no model should not load them.
    from longmind.extraction.model.extractor import ModelExtractor
    from longmind.extraction.model.spend_cap import CappedExtractor, TenantBudget

    if isinstance(chosen, str):
        extractor: Extractor = choose_model_extractor(chosen, settings, loop)
    elif isinstance(getattr(chosen, "name", None), str) and callable(getattr(chosen, "extract", None)):
        extractor = chosen
    else:
        raise InvalidInput(
            f"{type(chosen).__name__} is not an extractor.",
            hint="Give it a name and a method extract(messages, version).",
        )
    if not isinstance(extractor, ModelExtractor) or not _has_cap(extractor, settings):
        return lambda scope: extractor
    capped = extractor
    return lambda scope: CappedExtractor(capped, _load_rules, TenantBudget(database, scope, settings, clock))


def limit_sleep_time(
    extractor_of: ExtractorOf | None, settings: Settings, database: Database, clock: Clock
) -> ExtractorOf | None:
    """Return the extractors of sleep-time memory: a model extractor costs `sleep_time_daily_tokens` at the most."""
    if extractor_of is None:
        return None

    def choose(scope: Scope) -> Extractor:
        extractor = extractor_of(scope)
        # Only extractors that ask a model of ours can be limited; loading their modules to look would take long.
        if not hasattr(extractor, "limit"):
            return extractor
        from longmind.extraction.model.spend_cap import SleepTimeBudget

        budget = SleepTimeBudget(database, scope, settings.sleep_time_daily_tokens, clock)
        limited: Extractor = extractor.limit(_load_rules, budget)
        return limited

    return choose


def choose_model_extractor(name: str, settings: Settings, loop: BackgroundLoop) -> ModelExtractor:
    """Return the extractor for a name such as `model:openai:gpt-5-mini`."""
    if not name.startswith(_MODEL):
        raise InvalidInput(
            f"Unknown extractor {name!r}.",
            hint=f"Did you mean {_MODEL + name!r}?"
            if ":" in name
            else "Use 'local', 'rules', 'none', or 'model:' with the name of a language model.",
        )
    from longmind.extraction.model.extractor import ModelExtractor

    return ModelExtractor(choose_model(name.removeprefix(_MODEL), loop, settings), Prices.read(settings.model_prices))


def _has_cap(extractor: ModelExtractor, settings: Settings) -> bool:
    """Return whether the settings limit what a model extractor may cost, and check that the limit can be kept."""
    dollars, tokens = settings.extraction_spend_cap_dollars, settings.extraction_spend_cap_tokens
    if dollars and not tokens and not extractor.has_price:
        raise InvalidInput(
            f"extraction_spend_cap_dollars cannot be enforced: the price of {extractor.name!r} is unknown.",
            hint="Set its price in model_prices, or set extraction_spend_cap_tokens as well.",
        )
    return bool(dollars or tokens)


class _LocalReaders:
    """The local reader of an engine, loaded on first use and shared by all users; the rules where it has no encoder."""

    def __init__(self, find_encoder: EncoderSource) -> None:
        self._find_encoder = find_encoder
        self._reader: Extractor | None = None

    def __call__(self, scope: Scope) -> Extractor:
        if self._reader is None:
            self._reader = self._make_reader()
        return self._reader

    def _make_reader(self) -> Extractor:
        encoder = self._find_encoder()
        if encoder is None:
            return _load_rules()
        # Imported on use, since it loads numpy. Two made by a race are alike.
        from longmind.extraction.reader.local_reader import LocalReader

        return LocalReader(encoder, _load_rules())


@cache
def _load_rules() -> Extractor:
    """Return the rules extractor, which is shared by all users."""
    # Imported on use: a program that does not extract with rules should not load them.
    rules: Extractor = import_module("longmind.extraction.rules").RulesExtractor()
    return rules
