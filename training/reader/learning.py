"""The network of the reader in torch, and the loop that trains it. Only the training uses torch."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu

from longmind.extraction.reader.labels import HEADS
from longmind.extraction.reader.network import ATTENTION_HEADS, CONTEXT_TOKENS
from training.reader.examples import IGNORED, Example, Span

STATES = 4 * 384
"""The states of a token: those of four layers of the encoder."""
WIDTH, LAYERS, SPAN_WIDTH = 192, 2, 384
EPOCHS, RATE, BATCH, SEED = 14, 7e-4, 24, 7
_LOSS_OF_QUOTE, _LOSS_OF_VALUE, _LOSS_OF_HEAD = 3.0, 1.5, 0.6


class ReaderModule(nn.Module):
    """The network that `longmind.extraction.reader.network` runs, with its dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.input = nn.Linear(STATES, WIDTH)
        self.segment = nn.Embedding(2, WIDTH)
        self.input_norm, self.last_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                WIDTH, ATTENTION_HEADS, 2 * WIDTH, 0.25, _gelu, batch_first=True, norm_first=True
            )
            for _ in range(LAYERS)
        )
        self.quote, self.value = nn.Linear(WIDTH, 3), nn.Linear(WIDTH, 3)
        self.span = nn.Linear(3 * WIDTH + 2 * STATES, SPAN_WIDTH)
        self.heads = nn.ModuleDict({name: nn.Linear(SPAN_WIDTH, size) for name, size in HEADS.items()})
        self.dropout, self.dropout_of_states = nn.Dropout(0.25), nn.Dropout(0.35)

    def forward(self, states: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        """Return the hidden states of a batch; `mask` is true for tokens, and false for what fills the rows up."""
        hidden = self.input_norm(self.input(self.dropout_of_states(states)) + self.segment(segments))
        for layer in self.layers:
            hidden = layer(hidden, src_key_padding_mask=~mask)
        return self.last_norm(hidden)

    def describe(self, hidden: Tensor, spans: Sequence[tuple[int, Span]], states: Tensor) -> dict[str, Tensor]:
        """Return the answers of the heads for spans, each given with its row; `states` are the means of their own."""
        rows = torch.tensor([row for row, _ in spans])
        length = hidden.shape[1]
        quotes = _mask([span.quote for _, span in spans], length)
        values = _mask([span.value or span.quote for _, span in spans], length)
        chosen = hidden[rows]
        parts = [_mean(chosen, quotes), _mean(chosen, values), chosen[:, 0], self.dropout_of_states(states)]
        told = self.dropout(_gelu(self.span(torch.cat(parts, -1))))
        return {name: head(told) for name, head in self.heads.items()}

    def export(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the weights under the names that the runtime expects; matrices are turned for `given @ weight`."""
        weights: dict[str, np.ndarray[Any, Any]] = {"segment": _array(self.segment.weight)}
        parts: dict[str, nn.Module] = {
            "input": self.input,
            "input_norm": self.input_norm,
            "last_norm": self.last_norm,
            "quote": self.quote,
            "value": self.value,
            "span": self.span,
        }
        parts |= {f"head.{name}": head for name, head in self.heads.items()}
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, nn.TransformerEncoderLayer)
            attention = layer.self_attn
            weights[f"{number}.attention.weight"] = _array(attention.in_proj_weight).T
            weights[f"{number}.attention.bias"] = _array(attention.in_proj_bias)
            parts |= {
                f"{number}.output": attention.out_proj,
                f"{number}.grow": layer.linear1,
                f"{number}.shrink": layer.linear2,
                f"{number}.norm_attention": layer.norm1,
                f"{number}.norm_output": layer.norm2,
            }
        for name, part in parts.items():
            weight = _array(part.weight)
            weights[f"{name}.weight"] = weight.T if weight.ndim == 2 else weight
            weights[f"{name}.bias"] = _array(part.bias)
        return weights


def train(examples: Sequence[Example]) -> ReaderModule:
    """Train the network: the same weights each time, since all chance has a seed."""
    # One thread adds numbers in one order.
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    chance = random.Random(SEED)
    network = ReaderModule().train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.05)
    steps = EPOCHS * -(-len(examples) // BATCH)
    step, began = 0, time.perf_counter()
    for epoch in range(EPOCHS):
        running = 0.0
        for batch in _make_batches(examples, chance):
            share = step / steps
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(share / 0.08, 1.0) * (1 - share)
            loss = _compute_loss(network, batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            running += float(loss.detach())
            step += 1
        print(
            f"epoch {epoch + 1} of {EPOCHS}, loss {running / (steps / EPOCHS):.3f}, {time.perf_counter() - began:.0f} s"
        )
    return network.eval()


def _make_batches(examples: Sequence[Example], chance: random.Random) -> list[list[Example]]:
    """Group examples of similar length, in a random order."""
    order = sorted(examples, key=lambda each: len(each.piece.offsets) + chance.random() * 15)
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    chance.shuffle(batches)
    return batches


def _compute_loss(network: ReaderModule, batch: Sequence[Example]) -> Tensor:
    states, segments, mask = _pad_states(batch)
    hidden = network(states, segments, mask)
    dropped = network.dropout(hidden)
    length = states.shape[1]
    total = torch.zeros(())
    for weight, head, tags in (
        (_LOSS_OF_QUOTE, network.quote, [each.quote_tags for each in batch]),
        (_LOSS_OF_VALUE, network.value, [each.value_tags for each in batch]),
    ):
        wanted = _pad_tags(tags, length)
        total = total + weight * cross_entropy(head(dropped).flatten(0, 1), wanted.flatten(), ignore_index=IGNORED)
    spans = [(row, span) for row, each in enumerate(batch) for span in each.spans]
    if spans:
        means = torch.tensor(np.stack([_average_states(batch[row], span) for row, span in spans]))
        told = network.describe(dropped, spans, means)
        for name, scores in told.items():
            wanted = torch.tensor([span.answers[name] for _, span in spans])
            total = total + _LOSS_OF_HEAD * cross_entropy(scores, wanted)
    return total


def _pad_states(batch: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the states of pieces with the context after them, the segments, and the mask."""
    rows = []
    for each in batch:
        context = each.before.states[1:-1][-CONTEXT_TOKENS:] if each.before is not None else each.piece.states[:0]
        rows.append((each.piece.states, context))
    longest = max(len(piece) + len(context) for piece, context in rows)
    states = np.zeros((len(rows), longest, STATES), np.float32)
    segments, mask = np.zeros((len(rows), longest), np.int64), np.zeros((len(rows), longest), bool)
    for row, (piece, context) in enumerate(rows):
        size, whole = len(piece), len(piece) + len(context)
        states[row, :size], states[row, size:whole] = piece, context
        segments[row, size:whole] = 1
        mask[row, :whole] = True
    return torch.tensor(states), torch.tensor(segments), torch.tensor(mask)


def _pad_tags(tags: Sequence[np.ndarray[Any, Any]], length: int) -> Tensor:
    padded = np.full((len(tags), length), IGNORED)
    for row, each in enumerate(tags):
        padded[row, : len(each)] = each
    return torch.tensor(padded)


def _average_states(example: Example, span: Span) -> np.ndarray[Any, Any]:
    states = example.piece.states
    parts = [states[start:end].astype(np.float32).mean(0) for start, end in (span.quote, span.value or span.quote)]
    return np.concatenate(parts)


def _mask(places: Sequence[tuple[int, int]], length: int) -> Tensor:
    mask = np.zeros((len(places), length), np.float32)
    for row, (start, end) in enumerate(places):
        mask[row, start:end] = 1
    return torch.tensor(mask)


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def _gelu(given: Tensor) -> Tensor:
    return gelu(given, approximate="tanh")


def _array(tensor: Any) -> np.ndarray[Any, Any]:
    return tensor.detach().numpy()
