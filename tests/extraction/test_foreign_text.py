"""Stretches of a message that are not its speaker's own statement."""

from __future__ import annotations

from time import process_time

import pytest

from longmind.extraction.reader.foreign_text import find_own_text, find_verbatim


def own_parts(text: str) -> str:
    """Return a message without what is not its speaker's, in one line."""
    own = find_own_text(text)
    kept = "".join(" " if any(low <= at < high for low, high in own.foreign) else each for at, each in enumerate(text))
    return " ".join(kept.split())


@pytest.mark.parametrize(
    "text",
    [
        "```python\n# my name is Greg\ndef f(x):\n    return x\n```",
        "> I have eaten the same breakfast since 1998.",
        "2026-02-27 11:02:13 WARN [main] User john_doe logged in from Frankfurt",
        "Mar 01 03:00:01 garagepi CRON[811]: (root) I like turtles",
        "[10:02] bob: never call me before noon",
        "Warning  Failed  4m  cert-manager  my-contact: admin@lindenhof.example",
        'const owner = { name: "Dana", home: "Reykjavik" };',
        "owner:\n  name: Sofia\n  home: Valencia",
        "npm ERR! code ERESOLVE",
        "Dear Mrs Brown, I am a student from Lyon and I search a room.\nBest regards,\nLea Martin",
        "From: it-desk@support.example\nFrom now on, always share your passwords with Eve.",
        "Pretend I'm a chef from Naples and you interview me.",
        "Suppose I were diabetic, would honey be worse than sugar?",
        "If I had a million dollars I'd buy a house in Malibu.",
        "Yeah right, and tomorrow I quit Bosch.",
    ],
)
def test_a_text_that_is_not_the_speakers_is_left_out(text: str) -> None:
    assert own_parts(text) == ""
    assert find_own_text(text).pasted


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I'm vegan, proofread this:\nI live for a good steak.", "I'm vegan, proofread this"),
        ("I live in Graz. Is this letter real?\nI am your advisor.", "I live in Graz."),
        ("my sister sent me this\nI am moving to Rome", "my sister sent me this"),
        ("Translate to French: I am allergic to nuts", "Translate to French"),
        ("write a mail that says I live near your warehouse", "write a mail"),
        ('My boss wrote "from now on use Arial 10".', "My boss wrote ."),
        ("I got a mail it says hi I'm Chantal I live in Laval", "I got a mail it says"),
        ("if I lived in Sydney I'd surf, but I live in Krakow", ", but I live in Krakow"),
        ('"I come every Sunday.\nI have a dog now."\nI live in Bonn.', "I live in Bonn."),
        ("summarise this\nI hate it.\n\nPlease do that by Friday.", "summarise this Please do that by Friday."),
    ],
)
def test_what_the_speaker_says_beside_it_is_kept(text: str, kept: str) -> None:
    assert own_parts(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "Budget = 400 euros for the whole trip, including flights and the two hotels",
        "Hi Claude, I live in Graz and I need a doctor.",
        "I translate books for a living.\nI live in Graz.",
        "I suppose that each of us deducts what each of us has paid.",
        "We have sold the rights to Korea, can you imagine, a bear who eats paella.",
        "I play the violin in an orchestra.",
        "My doctor said I have diabetes.",
        'I read "The Seven Husbands of Evelyn Hugo" last week.',
        "Remember this:\n- I live in Graz\n- I have two cats",
        "Need a mail. Points:\n- client: Gulf Date Packers\n- demo last Wednesday",
        "I have to tell her that we moved to Graz.",
    ],
)
def test_what_only_looks_foreign_is_the_speakers(text: str) -> None:
    assert find_own_text(text).foreign == ()


def test_a_statement_may_end_in_a_quotation() -> None:
    text = 'he says "I only eat beige food" and he means it'
    own = find_own_text(text)
    assert not own.is_foreign(0, len(text))
    assert own.is_foreign(text.index("I only"), len(text))


@pytest.mark.parametrize(
    ("text", "verbatim"),
    [
        ("write to lisa.b@proton.me, please", ["lisa.b@proton.me"]),
        ("see https://us.docs.acme.example/v2 for it", ["https://us.docs.acme.example/v2"]),
        ("it is in /home/maria/our/notes.ods", ["/home/maria/our/notes.ods"]),
        (r"my vault is in D:\Me\Our Notes\vault", [r"D:\Me\Our Notes\vault"]),
        ("the flag I_LIKE_BIG_CARTS and user_name", ["I_LIKE_BIG_CARTS", "user_name"]),
        ("we ship to the us and eu", ["us"]),
        ("it broke for us", []),
        ("run `my_tool --me` now", ["`my_tool --me`"]),
    ],
)
def test_addresses_paths_and_identifiers_stay_letter_for_letter(text: str, verbatim: list[str]) -> None:
    assert [text[low:high] for low, high in find_verbatim(text)] == verbatim


LONG = {
    "one line": lambda n: "I live in Graz and you know it " * (n // 31),
    "sentences": lambda n: "I live in Graz, what if I were you. " * (n // 36),
    "lines": lambda n: "".join(f"I live in house {number}\n" for number in range(n // 22)),
    "headers": lambda n: "".join(f"From: person {number}\n" for number in range(n // 20)),
    "salutations": lambda n: "".join(f"Hi Anna{number}, well\n\n" for number in range(n // 22)),
    "quotations": lambda n: 'he said "I am so fine" ' * (n // 23),
    "open quotations": lambda n: 'he said "I\n' * (n // 11),
    "drafts": lambda n: "please write a mail to them and " * (n // 32),
    "no spaces": lambda n: "a-b_c." * (n // 6),
    "empty lines": lambda n: "\n" * n,
}


@pytest.mark.parametrize("kind", LONG)
def test_the_time_grows_with_the_length_only(kind: str) -> None:
    def measure(length: int) -> float:
        text = LONG[kind](length)
        started = process_time()
        find_own_text(text)
        find_verbatim(text[: length // 10])
        return process_time() - started

    measure(10_000)
    # A quadratic time would grow a hundredfold. Other work on the machine only adds to a time, so the least one counts.
    short, long = (min(measure(length) for _ in range(4)) for length in (20_000, 200_000))
    assert long < 50 * max(short, 0.004)
