"""The network of the reader: a small encoder with heads for stretches of text and for what they state.

Only the training uses torch. What is shipped is the encoder as an int8 graph, and the heads as arrays for numpy.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

WIDTH = 384
HEADS = 12
TAGS = ("outside", "begin", "inside")


class Layer(nn.Module):
    """One layer of a BERT encoder."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.grow, self.shrink = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm_attention, self.norm_output = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states after this layer; `mask` is added to the scores of attention."""
        rows, length, _ = states.shape

        def split(part: Tensor) -> Tensor:
            return part.view(rows, length, HEADS, WIDTH // HEADS).transpose(1, 2)

        query, key, value = split(self.query(states)), split(self.key(states)), split(self.value(states))
        scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + mask
        mixed = (self.dropout(scores.softmax(-1)) @ value).transpose(1, 2).reshape(rows, length, WIDTH)
        states = self.norm_attention(states + self.dropout(self.output(mixed)))
        return self.norm_output(states + self.dropout(self.shrink(nn.functional.gelu(self.grow(states)))))  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """A BERT encoder of six layers; it returns the state of each token."""

    def __init__(self, layers: int = 6, dropout: float = 0.1) -> None:
        super().__init__()
        self.words, self.places, self.kinds = (
            nn.Embedding(30522, WIDTH),
            nn.Embedding(512, WIDTH),
            nn.Embedding(2, WIDTH),
        )
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the states of all tokens."""
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        states = self.words(input_ids) + self.places(places) + self.kinds(token_type_ids)
        states = self.dropout(self.norm(states))
        mask = (1.0 - attention_mask[:, None, None, :].to(states.dtype)) * -10000.0
        for layer in self.layers:
            states = layer(states, mask)
        return states  # type: ignore[no-any-return]

    def load(self, path: Path) -> None:
        """Load the weights of a published encoder of the same shape."""
        source = load_file(path)
        names = {
            "words.weight": "embeddings.word_embeddings.weight",
            "places.weight": "embeddings.position_embeddings.weight",
            "kinds.weight": "embeddings.token_type_embeddings.weight",
            "norm.weight": "embeddings.LayerNorm.weight",
            "norm.bias": "embeddings.LayerNorm.bias",
        }
        parts = {
            "query": "attention.self.query",
            "key": "attention.self.key",
            "value": "attention.self.value",
            "output": "attention.output.dense",
            "norm_attention": "attention.output.LayerNorm",
            "grow": "intermediate.dense",
            "shrink": "output.dense",
            "norm_output": "output.LayerNorm",
        }
        for layer in range(len(self.layers)):
            for ours, theirs in parts.items():
                for kind in ("weight", "bias"):
                    names[f"layers.{layer}.{ours}.{kind}"] = f"encoder.layer.{layer}.{theirs}.{kind}"
        self.load_state_dict({ours: source[theirs] for ours, theirs in names.items()})
