"""The assembler: sections, a template and a token budget become a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from longmind.assembly.budget import FittedPrompt, fit
from longmind.assembly.sections import Piece, Section
from longmind.assembly.templates import Template
from longmind.assembly.tokens import TokenCounter
from longmind.assembly.wording import describe_message
from longmind.models.message import Message

MESSAGE_TOKENS = 4
"""Tokens of a message besides its words: its role, its beginning and its end."""
_LINE_TOKENS = 8
"""Rough tokens of a line besides its text. Only guesses how many to drop; the result is counted exactly."""


def assemble(sections: Sequence[Section], template: Template, budget: int, count: TokenCounter) -> FittedPrompt:
    """Lay out as much of the sections as the budget has room for.

    Tokens are counted in the rendered text. Turns that the template does not show go to the model as messages next to
    the text, and count too.
    """
    weights: dict[str, int] = {}

    def weigh(message: Message) -> int:
        if message.id not in weights:
            weights[message.id] = MESSAGE_TOKENS + count(describe_message(message))
        return weights[message.id]

    def weigh_messages(pieces: Sequence[Piece]) -> int:
        return sum(weigh(message) for piece in pieces for message in piece.messages)

    def measure(some: Sequence[Section]) -> tuple[str, int]:
        text = template.render(some)
        tokens = count(text) if text else 0
        return text, tokens + sum(weigh_messages(each.pieces) for each in some if each.name not in template.shows)

    def cost(piece: Piece) -> int:
        if piece.messages:
            return weigh_messages([piece])
        return count(str(piece.fields["text"])) + _LINE_TOKENS

    # Pieces that the template hides are not used, except turns, which become messages.
    used = [
        each if each.shape == "turns" else shown
        for each, shown in zip(sections, template.select_visible(sections), strict=True)
    ]
    return fit(used, budget, measure, cost)
