"""The reader's network with its heads, and the loop that trains it."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from longmind.extraction.reader.labels import ATTRIBUTES, CATEGORIES, CHANGES, KINDS
from training.reader.examples import IGNORED, Example
from training.reader.network import WIDTH, Encoder

HEAD_SIZES = {
    "attribute": len(ATTRIBUTES),
    "kind": len(KINDS),
    "category": len(CATEGORIES),
    "importance": 4,
    "of_user": 2,
    "negated": 2,
    "unsure": 2,
    "change": len(CHANGES),
}
RELATIONS = ("changed", "same", "independent", "ended", "corrected")
HIDDEN = 256


@dataclass(frozen=True)
class PairExample:
    """An earlier fact and a later statement, with the relation between them."""

    ids: list[int]
    types: list[int]
    relation: int
    weight: float = 1.0


class ReaderNetwork(nn.Module):
    """The encoder, tags for the tokens, and heads for stretches and pairs."""

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = Encoder(dropout=dropout)
        self.quote_tags, self.value_tags = nn.Linear(WIDTH, 3), nn.Linear(WIDTH, 3)
        self.span = nn.Linear(3 * WIDTH, HIDDEN)
        self.heads = nn.ModuleDict({name: nn.Linear(HIDDEN, size) for name, size in HEAD_SIZES.items()})
        self.pair = nn.Linear(WIDTH, HIDDEN)
        self.relation = nn.Linear(HIDDEN, len(RELATIONS))
        self.dropout = nn.Dropout(dropout)

    def describe(self, states: Tensor, rows: Tensor, quotes: Tensor, values: Tensor) -> dict[str, Tensor]:
        """Return what stretches state. The masks say which tokens are theirs."""
        chosen = states[rows]
        parts = [_mean(chosen, quotes), _mean(chosen, values), chosen[:, 0]]
        hidden = self.dropout(nn.functional.gelu(self.span(torch.cat(parts, -1))))
        return {name: head(hidden) for name, head in self.heads.items()}

    def compare(self, states: Tensor) -> Tensor:
        """Return the relation of each pair."""
        return self.relation(self.dropout(nn.functional.gelu(self.pair(states[:, 0]))))  # type: ignore[no-any-return]


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def pad(rows: Sequence[Sequence[int]], filler: int = 0) -> Tensor:
    """Return rows of different lengths as one tensor."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


def encode(network: ReaderNetwork, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> Tensor:
    """Return the states of a batch."""
    padded = pad(ids)
    mask = pad([[1] * len(row) for row in ids])
    return network.encoder(padded, mask, pad(types))  # type: ignore[no-any-return]


def span_masks(examples: Sequence[Example], length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of all stretches of a batch, and the masks of their quotes and values."""
    rows, quotes, values = [], [], []
    for row, example in enumerate(examples):
        for span in example.spans:
            rows.append(row)
            quotes.append(_mask(span.quote, length))
            values.append(_mask(span.value or span.quote, length))
    return torch.tensor(rows, dtype=torch.long), torch.tensor(np.array(quotes)), torch.tensor(np.array(values))


def _mask(at: tuple[int, int], length: int) -> np.ndarray:
    mask = np.zeros(length, np.float32)
    mask[at[0] : at[1]] = 1
    return mask


def loss_of_messages(network: ReaderNetwork, examples: Sequence[Example]) -> Tensor:
    """Return the loss of a batch of windows."""
    states = encode(network, [each.window.ids for each in examples], [each.window.types for each in examples])
    dropped = network.dropout(states)
    quote = nn.functional.cross_entropy(
        network.quote_tags(dropped).flatten(0, 1).float(),
        pad([each.quote_tags.tolist() for each in examples], IGNORED).flatten(),
        ignore_index=IGNORED,
    )
    value = nn.functional.cross_entropy(
        network.value_tags(dropped).flatten(0, 1).float(),
        pad([each.value_tags.tolist() for each in examples], IGNORED).flatten(),
        ignore_index=IGNORED,
    )
    total = 3 * quote + 2 * value
    if any(each.spans for each in examples):
        rows, quotes, values = span_masks(examples, states.shape[1])
        told = network.describe(dropped, rows, quotes.to(states.dtype), values.to(states.dtype))
        spans = [span for each in examples for span in each.spans]
        for name in HEAD_SIZES:
            wanted = torch.tensor([getattr(span, name) for span in spans])
            total = total + 0.3 * nn.functional.cross_entropy(told[name].float(), wanted)
    return total


def loss_of_pairs(network: ReaderNetwork, pairs: Sequence[PairExample]) -> Tensor:
    """Return the loss of a batch of pairs."""
    states = encode(network, [each.ids for each in pairs], [each.types for each in pairs])
    losses = nn.functional.cross_entropy(
        network.compare(states).float(), torch.tensor([each.relation for each in pairs]), reduction="none"
    )
    weights = torch.tensor([each.weight for each in pairs])
    return (losses * weights).sum() / weights.sum()


def make_batches(lengths: Sequence[int], tokens: int, chance: random.Random) -> list[list[int]]:
    """Group examples of similar length into batches of about so many tokens, in a random order."""
    order = sorted(range(len(lengths)), key=lambda each: lengths[each] + chance.random() * 12)
    batches: list[list[int]] = []
    for place in order:
        if batches and (len(batches[-1]) + 1) * max(lengths[place], 24) <= tokens and len(batches[-1]) < 32:
            batches[-1].append(place)
        else:
            batches.append([place])
    chance.shuffle(batches)
    return batches


def train(
    start: Path,
    examples: Sequence[Example],
    pairs: Sequence[PairExample],
    *,
    epochs: int = 8,
    rate: float = 1e-4,
    seed: int = 7,
    frozen: bool = False,
) -> ReaderNetwork:
    """Train a network from the weights of a published encoder.

    frozen: leave the encoder as it is, and train only the heads.
    """
    torch.manual_seed(seed)
    chance = random.Random(seed)
    network = ReaderNetwork()
    network.encoder.load(start)
    network.train()
    fast = [part for name, part in network.named_parameters() if not name.startswith("encoder.")]
    slow = [part for name, part in network.named_parameters() if name.startswith("encoder.layers")]
    groups = [{"params": fast, "lr": rate * 5}]
    if not frozen:
        groups.append({"params": slow, "lr": rate})
    rates = [group["lr"] for group in groups]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    plan: list[tuple[str, list[int]]] = []
    for _ in range(epochs):
        now = [("message", b) for b in make_batches([len(each.window.ids) for each in examples], 1024, chance)]
        now += [("pair", b) for b in make_batches([len(each.ids) for each in pairs], 1024, chance)] if pairs else []
        chance.shuffle(now)
        plan += now
    began = time.perf_counter()
    running = 0.0
    for step, (sort, batch) in enumerate(plan):
        share = step / len(plan)
        factor = min(share / 0.06, 1.0) * (1 - share)
        for group, base in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = base * factor
        with torch.autocast("cpu", dtype=torch.bfloat16):
            if sort == "message":
                loss = loss_of_messages(network, [examples[each] for each in batch])
            else:
                loss = loss_of_pairs(network, [pairs[each] for each in batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        running = 0.98 * running + 0.02 * float(loss.detach()) if step else float(loss.detach())
        if step % 200 == 0:
            print(f"step {step} of {len(plan)}, loss {running:.3f}, {time.perf_counter() - began:.0f} s", flush=True)
    network.eval()
    return network
