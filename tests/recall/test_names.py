"""Which entities a question names, in languages with spaces between words and in those without."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from longmind.memory import Memory
from longmind.recall.entity_names import EntityNames
from tests.recall.facts import fact


def named(memory: Memory, space_id: str, names: Sequence[str], query: str) -> list[str]:
    """Which of the entities with these names the query raises, each of which one atom is about."""
    for name in names:
        entity = memory.create_entity(space_id, "PERSON", name)
        memory.add_atom(space_id, fact("a note", entity_ids=[entity.id], tags=[name]))
    found = memory.recall_by_topic(space_id, f"note {query}", limit=50)
    return sorted(tag for hit in found.hits if hit.entity_match_bonus > 1 for tag in hit.atom.tags)


@pytest.mark.conforms("R-C")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("我和小明去了東京", ["小明", "東京"]),
        ("東京に行く", ["東京"]),
        ("ナルトが好き", ["ナルト"]),
        ("พบสมชายเมื่อวาน", ["สมชาย"]),
        ("小明,你好", ["小明"]),
        ("我和Anna去", ["Anna"]),
        ("昨日Anna Lopezと話した", ["Anna Lopez"]),
        ("山田太郎さん", ["山田 太郎"]),
        ("山田 太郎さん", ["山田 太郎"]),
        ("Where is 小明?", ["小明"]),
        ("彼はHannaと会う", []),
    ],
)
def test_a_name_is_found_within_a_text_that_has_no_spaces(
    memory: Memory, space_id: str, query: str, expected: list[str]
) -> None:
    names = ["小明", "東京", "ナルト", "สมชาย", "Anna", "Anna Lopez", "山田 太郎"]
    assert named(memory, space_id, names, query) == expected


@pytest.mark.parametrize(
    ("names", "query", "expected"),
    [
        (("東京", "東京大学", "京都"), "東京大学に入る", ["東京大学"]),
        (("東京", "京都"), "東京都に住む", ["東京"]),
        (("東京", "京都"), "東京と京都", ["京都", "東京"]),
        (("林",), "森林を歩く", []),
        (("林",), "林さんに会う", []),
        (("林",), "「林」に会う", ["林"]),
        (("林",), "林, 来て", ["林"]),
        (("アン",), "アンケートに答える", []),
        (("アン",), "プランアンの話", []),
        (("アン",), "アンの話", ["アン"]),
        (("ジョン",), "ジョン・スミスに会う", ["ジョン"]),
        (("ジョン・スミス",), "ジョン・スミスに会う", ["ジョン・スミス"]),
        (("สม",), "ซื้อสมุด", []),
        (("C",), "我喜欢C++", []),
        (("C", "C++"), "我喜欢C++", ["C++"]),
    ],
)
def test_the_longest_name_is_meant_and_no_part_of_another_word(
    names: tuple[str, ...], query: str, expected: list[str]
) -> None:
    assert EntityNames((name.lower(), name, 0) for name in names).find_entities(query) == expected


@pytest.mark.parametrize(("name", "other"), [("O'Brien", "O\u2019Brien"), ("O\u2019Brien", "O'Brien")])
def test_a_name_is_the_same_with_either_apostrophe(memory: Memory, space_id: str, name: str, other: str) -> None:
    assert named(memory, space_id, [name], f"{other} said") == [name]
    assert named(memory, space_id, [], f"{other}\u2019s dog") == [name]
    entity = memory.create_entity(space_id, "PERSON", other)
    assert entity.canonical_name == name
    assert memory.find_entity_by_name(space_id, "PERSON", other) == entity
    assert [hit.atom.text for hit in memory.recall_by_entity(space_id, other).hits] == ["a note"]


@pytest.mark.conforms("R-C")
@pytest.mark.parametrize(
    "query",
    [
        "\u00abAcme\u00bb",
        "\u201eAcme\u201c",
        "\u00bfAcme?",
        "*Acme*",
        "#Acme",
        "@Acme",
        "<Acme>",
        "{Acme}",
        "Acme\u2014who",
        "Acme/Zed",
        "Acme;X",
    ],
)
def test_a_name_is_found_beside_any_sign(memory: Memory, space_id: str, query: str) -> None:
    assert named(memory, space_id, ["Acme"], query) == ["Acme"]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("\u0623\u0643\u0645\u064a", "\u0623\u0643\u0645\u064a\u061f"),
        ("\u0930\u093e\u092e", "\u0930\u093e\u092e\u0964"),
    ],
)
def test_a_name_is_found_before_the_end_of_a_sentence_of_any_script(
    memory: Memory, space_id: str, name: str, query: str
) -> None:
    assert named(memory, space_id, [name], query) == [name]


def test_signs_that_belong_to_a_name_tell_it_from_others() -> None:
    names = EntityNames(
        [("c++", "one", 0), ("c", "two", 0), ("at&t", "three", 0), ("jean-luc", "four", 0), ("jean", "five", 0)]
    )
    assert names.find_entities("is C++ fast?") == ["one"]
    assert names.find_entities("is C# fast?") == []
    assert names.find_entities("C++/Java or C++11") == ["one"]
    assert names.find_entities("either jean+ or *jean*#") == ["five"]
    assert EntityNames([("\u0e19", "one", 0)]).find_entities("\u0e19\u0e49\u0e33") == []
    sita = EntityNames([("\u0938\u0940\u0924\u093e", "one", 0), ("\u0915\u092e\u0932", "two", 0)])
    assert sita.find_entities("#\u0938\u0940\u0924\u093e (\u0915\u092e\u0932\u093e)") == ["one"]
    assert names.find_entities("(AT&T) and *Jean-Luc*") == ["four", "three"]
