"""Profiles of the user and of entities, computed from the facts that hold."""

from __future__ import annotations

from longmind.assembly.profile_text import make_profile_section, write_profile
from longmind.assembly.sanitiser import sanitise
from longmind.assembly.sections import Section, list_atoms_in_order
from longmind.clock import Instant, to_iso
from longmind.errors import NotFound
from longmind.extraction.consolidation.profile_facts import find_profile_facts
from longmind.memory.service_base import MemoryBase
from longmind.memory.validation import validate_instant
from longmind.models.profile import Profile, ProfileLine
from longmind.scope import Scope
from longmind.store.tables import entities, grants
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import EntityId, SpaceId


class Profiles(MemoryBase):
    """Profiles of the user, and of the entities of a space."""

    def get_profile(
        self, memory_space_id: SpaceId, *, entity_id: EntityId | None = None, known_at: Instant | None = None
    ) -> Profile:
        """Get what is stable about the user in at most 150 tokens: lines for every prompt, with the facts they cite.

        Identity comes first, then standing rules, health and diet, home, work and family, then what is important. Only
        what the user or the app stated is in it. In a shared space, it is about what this user said there.

        memory_space_id: the id or the name of a space. entity_id: the entity to describe in place of the user.
        known_at: the profile as it was at that instant. Raises NotFound for an unknown space or entity.
        """
        entity = None if entity_id is None else validate_id("entity_id", entity_id)
        known = validate_instant("known_at", known_at)
        now = self._clock()
        space_id = self._find_space(memory_space_id)
        return self._read_space(space_id, lambda scope: self._read_profile(scope, space_id, entity, now, known))

    def _read_profile(
        self, owner: Scope, space_id: str, entity_id: str | None, now: int, known_at: int | None
    ) -> Profile:
        # Nobody in a space that is shared is "the user" of all of it, so only what this one said counts there.
        title, speaker = "About the user", None
        if entity_id is not None:
            entity = self._database.read(owner, entities.get, entity_id)
            if entity is None or entity.memory_space_id != space_id:
                raise NotFound("entity", entity_id)
            title = f"About {sanitise(entity.canonical_name)}"
        elif owner != self._scope or self._database.read(owner, grants.is_shared, space_id):
            speaker = self._scope.user_id
        facts = find_profile_facts(
            self._retriever, owner, space_id, now=now, known_at=known_at, speaker=speaker, entity_id=entity_id
        )

        def layout(section: Section) -> str:
            return write_profile(title, section)

        # The budget is that of the text as it is shown, with its title and numbers.
        section = make_profile_section(facts.values(), layout, self._count)
        text = layout(section)
        shown = list_atoms_in_order([section])
        texts = {piece.atom.id: str(piece.fields["text"]) for piece in section.pieces if piece.atom is not None}
        return Profile(
            memory_space_id=space_id,
            entity_id=entity_id,
            text=text,
            lines=[ProfileLine(text=texts[atom.id], atom_ids=[atom.id], behavioral=atom.behavioral) for atom in shown],
            tokens_estimated=self._count(text) if text else 0,
            built_at=to_iso(now if known_at is None else known_at),
        )
