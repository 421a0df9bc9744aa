"""The quick start of a chatbot with memory, as a new user would run it: offline, and with models of two vendors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vendor.server import Vendor

SCRIPT = Path(__file__).parent.parent / "examples" / "daily_checkin.py"
LEARNED = (
    "User prefers meetings on Tuesday mornings.",
    "User's goal is to run the Oslo marathon.",
    "User's name is Ada.",
)


def check_in(*arguments: str) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.conforms("A10.1", "A1.17", "A7.1")
def test_a_second_conversation_knows_what_the_first_one_established_and_where(database_url: str) -> None:
    first, second = check_in("--url", database_url).split("--- another day ---")

    assert "I remember" not in first
    answer, cited = second.split("Facts in the prompt")
    for fact in LEARNED:
        assert fact in answer
        assert re.search(rf"- {re.escape(fact)}.* \[message [13] of conv_", cited)


@pytest.mark.conforms("A10.1")
def test_the_script_may_be_run_again_on_the_same_database(database_url: str) -> None:
    check_in("--url", database_url)
    again = check_in("--url", database_url)

    cited = again.split("Facts in the prompt")[1]
    assert re.search(
        r"- User prefers meetings on Tuesday mornings\. \[message 1 of (conv_\w+), message 3 of (?!\1)conv_", cited
    )


@pytest.mark.conforms("A10.1", "A1.17")
@pytest.mark.parametrize("model", ["openai:gpt-5-mini", "openai-chat:gpt-5-mini", "anthropic:claude-sonnet-4-5"])
def test_the_same_script_talks_to_real_models(vendor: Vendor, model: str) -> None:
    printed = check_in("--model", model)

    assert printed.count("Assistant: Good day to you.") == 3
    assert len(vendor.asked) == 3
    for fact in LEARNED:
        assert fact not in vendor.asked[0].system
        assert fact in vendor.asked[2].system
