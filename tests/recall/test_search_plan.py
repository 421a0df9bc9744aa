"""Questions that ask for all, and those that only have a word of such a question."""

from __future__ import annotations

import pytest

import longmind
from longmind.recall.search_plan import asks_for_all

FOR_ALL = """
Which courses did I take?
which books have I read this year?
What places did we visit?
what are my allergies?
Who came to the party?
Who else was at the dinner?
Who attended the first meeting?
Who are my colleagues in Graz?
What were the reasons for the delay?
What hobbies does Ada have?
Which restaurants has she recommended?
What musical instruments can Ben play?
What kinds of music does she like?
What sorts of tea do we have?
In which cities have I lived?
Which of my friends have children?
Which people did I meet in Lisbon?
Which languages are spoken at home?
How many trips were there?
How often did I go running?
List the pets that Anna has
Show all bills from May
Did all of the guests arrive?
In what order did I visit the museums?
Tell me the order of the events
What is the total cost of the trip?
Summarise our talks about the garden
Give me an overview of the project
What do you know about each candidate?
Name every city that I lived in
""".strip().splitlines()
FOR_ONE = """
Is that all right?
All right, when do we leave?
Did she come after all?
Do I like cheese at all?
First of all, where is the key?
Was I at home all day?
Did it rain all night?
Has she known it all along?
Do Anna and Ben know each other?
What did Anna and Ben give each other?
What did each say?
What do I drink every morning?
Do we meet every Friday?
Which course did I take last?
Which class did I miss?
Which bus do I take to work?
Which analysis was right?
What news did Ada bring?
What does Ada do for a living?
What has James had for lunch?
What time does the store have to close?
What is my name?
What is the status of the order?
What are you doing?
Who is my doctor?
Who was at the door?
What was her address?
Where are my glasses?
When did the courses begin?
I take courses which she likes
""".strip().splitlines()


@pytest.mark.parametrize("question", FOR_ALL)
def test_a_question_for_a_list_a_count_an_order_or_a_summary_asks_for_all(question: str) -> None:
    assert asks_for_all(question)


@pytest.mark.parametrize("question", FOR_ONE)
def test_other_questions_do_not_ask_for_all(question: str) -> None:
    assert not asks_for_all(question)


def test_a_question_in_the_plural_is_answered_beyond_the_limit(sqlite_url: str) -> None:
    with longmind.open(sqlite_url, embedder=None) as engine:
        memory = engine.context(tenant_id="acme", app_id="support", user_id="ada").memory
        space_id = memory.create_memory_space("study").id
        for name in ("baking", "drawing", "sailing"):
            fact = {"text": f"Courses: {name}", "category": {"name": "study", "kind": "FACT"}}
            memory.add_atom(space_id, fact)
        assert len(memory.recall_by_topic(space_id, "Which courses did I take?", limit=1).hits) == 3
        assert len(memory.recall_by_topic(space_id, "Which course did I take?", limit=1).hits) == 1
