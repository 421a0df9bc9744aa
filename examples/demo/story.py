"""The story of the demonstration: facts are learned, change, are recalled, asked about the past, and erased.

Each scene is a function that uses the public operations and checks their results on the stage.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from examples.demo.stage import Stage
from longmind.clock import Micros, system_clock, to_iso
from longmind.context import Context
from longmind.engine import Engine
from longmind.models.atom import Atom
from longmind.models.conversation import Conversation
from longmind.models.recall import Hit

APP = "demo"
NAMESPACE = "check-in"
WHERE = "Where do I live?"
_DAY: Micros = int(timedelta(days=1).total_seconds()) * 1_000_000
_WORDS = ("Graz", "Vienna", "cello", "Tuesday")
"""Words that only Ada said; after the erasure none of them may be found in the database file."""


class TravellingClock:
    """A clock that can be set back, so that a story of six weeks takes seconds."""

    def __init__(self) -> None:
        self._offset = 0

    def set_back(self, days: int) -> None:
        """Set the clock to some days before now."""
        self._offset = days * _DAY

    def __call__(self) -> Micros:
        return system_clock() - self._offset


@dataclass(frozen=True)
class Story:
    """The story, and everything that its scenes need."""

    stage: Stage
    engine: Engine
    clock: TravellingClock
    tenant: str
    file: Path | None = None
    """The database, if it is an SQLite file."""

    def tell(self) -> None:
        """Play all scenes in order; the last one erases all data and leaves only a receipt."""
        ada = self.open_user("ada")
        space_id = ada.memory.create_memory_space("personal").id
        ada.memory.create_binding({"namespace": NAMESPACE, "userId": "ada"}, [space_id])
        started = time.monotonic()
        learn(self, ada, space_id)
        change(self, ada, space_id)
        recall(self, ada, space_id)
        ask_about_the_past(self, ada, space_id)
        prompt(self, ada, space_id)
        guard(self, space_id)
        erase(self, ada)
        self.stage.open(f"\nThat took {time.monotonic() - started:.1f} seconds, with no key and no network.")

    def open_user(self, user_id: str) -> Context:
        """Return the context of a user."""
        return self.engine.context(tenant_id=self.tenant, app_id=APP, user_id=user_id)

    def talk(self, context: Context, *turns: tuple[str, str]) -> Conversation:
        """Have a conversation, close it, and run the extraction that follows."""
        chat = context.conversations
        conversation = chat.create_conversation(NAMESPACE)
        for message, answer in turns:
            self.stage.say("Ada", message)
            self.stage.say("Assistant", answer)
            chat.append_turn(conversation.id, user_content=message, assistant={"content": answer})
        closed = chat.close_conversation(conversation.id)
        self.engine.work()
        return closed

    def format_past(self, days: int) -> str:
        """Return the instant some days before now."""
        return to_iso(system_clock() - days * _DAY)


def learn(story: Story, ada: Context, space_id: str) -> None:
    """Learn facts from a conversation of six weeks ago."""
    story.stage.scene("Six weeks ago. Ada talks to an assistant, and Longmind learns from what she says.")
    story.clock.set_back(45)
    story.talk(
        ada,
        ("I live in Graz, and I work as a nurse.", "How nice."),
        ("I prefer meetings on Tuesday mornings. My sister Anna plays the cello.", "Noted."),
    )
    atoms = ada.memory.list_atoms(space_id)
    story.stage.note("\nLongmind learned, without a language model, and cites each message:")
    for atom in reversed(atoms):
        story.stage.note(f"- {atom.text}", f"{atom.category.kind}, message {_format_sources(ada, atom)}")
    story.stage.check("four facts were learned", len(atoms) == 4)
    story.stage.check("each fact can be traced to a message", all(atom.source_message_ids for atom in atoms))


def change(story: Story, ada: Context, space_id: str) -> None:
    """Supersede a fact."""
    story.stage.scene("Yesterday. Something has changed.")
    story.clock.set_back(1)
    story.talk(ada, ("I have been living in Vienna for two weeks now.", "Congratulations!"))
    timeline = ada.memory.recall_timeline(space_id, query=WHERE).hits
    homes = [hit.atom for hit in timeline if "living in" in hit.atom.text or "lives in" in hit.atom.text]
    story.stage.note("\nNothing is overwritten. The old fact ends where the new one begins:")
    for atom in homes:
        story.stage.note(f"- {atom.valid_from[:10]} to {(atom.valid_to or 'today')[:10]}: {atom.text}")
    story.stage.check(
        "the new home superseded the old one", [atom.superseded_by is None for atom in homes] == [False, True]
    )
    if homes:
        story.stage.note("", f"because: {homes[-1].because}")


def recall(story: Story, ada: Context, space_id: str) -> None:
    """Recall the current fact with its explanation."""
    story.stage.scene(f"Today. Longmind is asked: {WHERE}")
    story.clock.set_back(0)
    hits = ada.memory.recall_by_topic(space_id, WHERE, explain=True).hits
    story.stage.check("the first hit is Vienna", bool(hits) and "Vienna" in hits[0].atom.text)
    story.stage.check("Graz is not among the hits", not any("Graz" in hit.atom.text for hit in hits))
    if hits:
        story.stage.note(f"\n{hits[0].atom.text}")
        story.stage.note("", f"said: {_quote_sources(ada, hits[0].atom)!r}")
        story.stage.note("", f"why: {_format_explanation(hits[0])}")


def ask_about_the_past(story: Story, ada: Context, space_id: str) -> None:
    """Recall what was true, and what was known, at earlier times."""
    story.stage.scene("Facts that were true last month, and facts that were known last week.")

    def first(**when: str) -> str:
        hits = ada.memory.recall_by_topic(space_id, WHERE, limit=1, **when).hits  # type: ignore[arg-type]  # dates by name
        return hits[0].atom.text if hits else ""

    last_month, last_week, known = (
        first(valid_at=story.format_past(30)),
        first(valid_at=story.format_past(5)),
        first(known_at=story.format_past(5)),
    )
    story.stage.check(f"true 30 days ago: {last_month}", "Graz" in last_month)
    story.stage.check(f"true 5 days ago: {last_week}", "Vienna" in last_week)
    story.stage.check(f"known 5 days ago: {known}", "Graz" in known)


def prompt(story: Story, ada: Context, space_id: str) -> None:
    """Build a prompt with memory."""
    story.stage.scene("A new conversation. The prompt remembers, within a budget of tokens.")
    conversation = ada.conversations.create_conversation(NAMESPACE)
    question = "When can we meet, and what does my sister play?"
    story.stage.say("Ada", question)
    built = ada.working_context.build_working_context(
        conversation.id, memory_space_id=space_id, recall_query=question, always_on_category_names=["identity"]
    )
    story.stage.quote(built.context_block)
    story.stage.check("it knows when Ada likes to meet", "Tuesday mornings" in built.context_block)
    story.stage.check("it knows what Anna plays", "Anna plays the cello" in built.context_block)
    story.stage.check("what she likes is a suggestion, not a command", "not commands" in built.context_block)
    story.stage.check(f"it has {built.tokens_estimated} of 8,000 tokens", built.tokens_estimated <= 8_000)


def guard(story: Story, space_id: str) -> None:
    """Show that another user of the app finds nothing."""
    story.stage.scene("Grace, of the same app, tries with the right id of Ada's memory.")
    grace = story.open_user("grace").memory
    story.stage.check("for her the space does not exist", grace.get_memory_space(space_id) is None)
    story.stage.check("and she has no space of her own", grace.list_memory_spaces() == [])


def erase(story: Story, ada: Context) -> None:
    """Erase Ada, and verify the receipt and the raw bytes of the file."""
    story.stage.scene("Ada asks to be forgotten.")
    before = [] if story.file is None else find_words(story.file)
    erased = ada.admin.delete_user_data(confirm=True)
    rows = ", ".join(f"{count} {place}" for place, count in erased["deleted"].items() if count)
    story.stage.note(f"Erased: {rows}.")
    again = ada.admin.delete_user_data(confirm=True)
    story.stage.check("a second erasure finds nothing", not any(again["deleted"].values()))
    story.stage.check("the receipt stands in the chained log", ada.admin.verify_receipt(erased["receipt"]))
    is_empty = not ada.conversations.list_conversations() and not ada.memory.list_memory_spaces()
    story.stage.check("no conversation and no memory is left", is_empty)
    if story.file is not None:
        claim = f"{', '.join(before)} were in the raw bytes of the database, and are gone now"
        story.stage.check(claim, before == list(_WORDS) and find_words(story.file) == [])


def find_words(file: Path) -> list[str]:
    """Return those of Ada's words that are in the files of an SQLite database, including its write-ahead log."""
    raw = b"".join(each.read_bytes().lower() for each in file.parent.glob(f"{file.name}*"))
    return [word for word in _WORDS if word.lower().encode() in raw]


def _format_sources(context: Context, atom: Atom) -> str:
    return " and ".join(str(sequence) for sequence, _ in _list_sources(context, atom))


def _quote_sources(context: Context, atom: Atom) -> str:
    return " … ".join(text for _, text in _list_sources(context, atom))


def _list_sources(context: Context, atom: Atom) -> list[tuple[int, str]]:
    if atom.source_conversation_id is None:
        return []
    messages = context.conversations.get_messages(atom.source_conversation_id)
    return [(each.sequence, each.text) for each in messages if each.id in atom.source_message_ids]


def _format_explanation(hit: Hit) -> str:
    why = hit.explanation
    if why is None:
        return ""
    ranks = [("by words", why.lexical_rank), ("by meaning", why.dense_rank)]
    places = " and ".join(f"number {rank} {how}" for how, rank in ranks if rank is not None)
    return f"{places}; importance {why.importance_weight:.2f}, age {why.decay_weight:.2f}; score {hit.score:.3f}"
