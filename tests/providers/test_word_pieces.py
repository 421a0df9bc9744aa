"""The tokens of the local models, against the library that the models were trained with."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from longmind.providers.local.word_pieces import WordPieces

# As in the vocabularies of such models: special tokens, signs, whole words, and pieces of words.
VOCABULARY = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "\u3002", "\u20ac",
    *"abcdefghijklmnopqrstuvwxyz0123456789", *(f"##{each}" for each in "abcdefghijklmnopqrstuvwxyz0123456789"),
    "the", "train", "cafe", "un", "##believ", "##able", "##ing", "istanbul", "\u6771", "\u4eac", "\u03c3", "##\u03c3",
    "\u1112", "##\u1161", "##\u11ab", "\u0663", "##\u0663", "d", "x", "##x",
)  # fmt: skip
PARTS = (
    "the", "The", "TRAIN", "unbelievable", "Unbelieving", "caf\u00e9", "cafe\u0301", "\u0130stanbul", "\u6771\u4eac",
    "\ud55c", "\u03a3", "\u03c2", "x" * 100, "x" * 101, "[SEP]", "[MASK]", "[sep]", "[CLS", "don't", "a_b", "\u226e",
    "\u20ac", "\u0663", " ", "  ", "\n", "\t", "\u00a0", "\u2028", "\u3000", "\u200d", "\u00ad", "\ufffd", "\x00",
    "\x1c", "\ufeff", "\u0301", "...", "-", "\u3002", "\U0001f600", "\u0378", "zz\u00e9zz", "\ufb01",
)  # fmt: skip


# Of characters that are newer than its tables, the library takes accents and signs for letters.
LETTERS = st.characters(max_codepoint=0x24FF, exclude_categories=["Cs", "Cn", "Mn", "Po", "Cf"])
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(LETTERS, max_size=5), max_size=40).map("".join)
LONGEST = 24


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(dict.fromkeys(VOCABULARY)) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def ours(vocabulary: Path) -> WordPieces:
    return WordPieces(vocabulary, longest=LONGEST)


@pytest.fixture(scope="module")
def theirs(vocabulary: Path) -> BertWordPieceTokenizer:
    tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


@given(text=TEXTS)
def test_a_text_has_the_tokens_that_the_model_was_trained_on(
    text: str, ours: WordPieces, theirs: BertWordPieceTokenizer
) -> None:
    expected, found = theirs.encode(text), ours.encode(text)
    assert (found.ids, found.kinds, found.offsets) == (expected.ids, expected.type_ids, expected.offsets)


@given(first=TEXTS, second=TEXTS)
def test_of_two_texts_the_same_is_left_out(
    first: str, second: str, ours: WordPieces, theirs: BertWordPieceTokenizer
) -> None:
    expected, found = theirs.encode(first, second), ours.encode_pair(first, second)
    assert (found.ids, found.kinds, found.offsets) == (expected.ids, expected.type_ids, expected.offsets)


@pytest.mark.parametrize(("first", "last"), [(0, 0x600), (0x2000, 0x2400), (0x3000, 0x3200), (0xAC00, 0xAD00)])
def test_every_character_is_cut_alike(first: int, last: int, ours: WordPieces, theirs: BertWordPieceTokenizer) -> None:
    for code in range(first, last):
        text = f"x{chr(code)}x x"
        expected, found = theirs.encode(text), ours.encode(text)
        assert (found.ids, found.offsets) == (expected.ids, expected.offsets), hex(code)


def test_a_vocabulary_with_the_line_ends_of_windows_is_read_alike(tmp_path: Path, vocabulary: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(vocabulary.read_bytes().replace(b"\n", b"\r\n"))
    text = "The train, unbelievable"
    assert WordPieces(path, longest=LONGEST).encode(text) == WordPieces(vocabulary, longest=LONGEST).encode(text)
