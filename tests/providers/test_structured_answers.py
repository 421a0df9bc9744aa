"""The whole way of an extraction, over the protocols of the vendors."""

from __future__ import annotations

import json
from typing import Any

import pytest

import longmind
from longmind.extraction.model.extractor import ModelExtractor
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.pydantic_ai.models import VendorModel
from tests.extraction.model_answers import fact, fact_v2, fact_v3, facts, user_message
from tests.vendor.answer import Answer
from tests.vendor.server import Vendor

V1, V2, V3 = "extraction-v1", "extraction-v2", "extraction-v3"
TALK = [user_message("msg_a", "I live in Graz.")]
FACTS = {
    V1: facts(fact()),
    V2: facts(fact_v2(slot={"subject": "user", "attribute": "home", "value": "graz"})),
    V3: facts(fact_v3("The user lives in Graz.")),
}
EVERY_WAY = pytest.mark.parametrize(
    "name", ["openai-chat:gpt-4o", "openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "ollama:llama3"]
)


def asked_schema(body: dict[str, Any]) -> str:
    """What a request says of the form of the answer, whichever way the vendor has for that."""
    return json.dumps(
        [body.get(part) for part in ("tools", "response_format", "text", "output_config", "output_format")]
    )


@EVERY_WAY
@pytest.mark.parametrize("version", [V1, V2, V3])
def test_facts_come_in_the_form_that_was_asked_for(
    vendor: Vendor, loop: BackgroundLoop, name: str, version: str
) -> None:
    vendor.answers = [Answer(tools=(("answer", json.dumps(FACTS[version])),), tokens=(900, 80))]

    extracted = ModelExtractor(VendorModel(name, loop=loop)).extract(TALK, version)

    (candidate,) = extracted.candidates
    assert (candidate.text, candidate.source_message_ids) == ("The user lives in Graz.", ("msg_a",))
    assert (candidate.slot is not None) == (version != V1)
    assert (extracted.cost.input_tokens, extracted.cost.output_tokens) == (900, 80)
    assert (extracted.cost.dollars is None) == name.startswith("ollama")
    (asked,) = vendor.asked
    for property in FACTS[version]["facts"][0]:
        assert f'"{property}"' in asked_schema(asked.body)


@pytest.mark.parametrize("name", ["openai-chat:gpt-4o", "openai:gpt-5-mini"])
@pytest.mark.parametrize("version", [V1, V2, V3])
def test_vendors_that_can_are_held_to_the_schema(vendor: Vendor, loop: BackgroundLoop, name: str, version: str) -> None:
    vendor.answers = [Answer(tools=(("answer", json.dumps(FACTS[version])),))]
    ModelExtractor(VendorModel(name, loop=loop)).extract(TALK, version)
    assert '"strict": true' in asked_schema(vendor.asked[0].body)


@EVERY_WAY
def test_a_broken_answer_is_mended_over_the_wire(vendor: Vendor, loop: BackgroundLoop, name: str) -> None:
    vendor.answers = [Answer('{"facts": [', cut_off=True), Answer(json.dumps(FACTS[V1]))]
    extracted = ModelExtractor(VendorModel(name, loop=loop)).extract(TALK, V1)
    assert len(extracted.candidates) == 1
    assert extracted.cost.input_tokens == 22
    assert "cut off" in json.dumps(vendor.asked[1].body)


def test_a_vendor_in_trouble_fails_the_extraction_and_not_silently(vendor: Vendor, loop: BackgroundLoop) -> None:
    vendor.answers = [Answer(status=500)]
    with pytest.raises(longmind.ModelFailed, match="after 2 attempts"):
        ModelExtractor(VendorModel("openai-chat:gpt-4o", attempts=2, loop=loop)).extract(TALK, V1)
