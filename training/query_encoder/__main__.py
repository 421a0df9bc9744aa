"""The program that writes the query encoder: `python -m training.query_encoder`.

It needs the embedder's files (`longmind models pull`) and `pip install onnx==1.23.2`. The same machine writes the same
bytes in every run; on another kind of processor the last digits differ. Put the checksum that it prints into
`model_files.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx  # type: ignore[import-not-found]  # only this program needs it
import onnxruntime  # type: ignore[import-untyped]  # it has no types
from numpy.typing import NDArray
from onnx import TensorProto, helper

from longmind.providers import local
from longmind.providers.local.onnx import pad_batch
from longmind.providers.local.word_pieces import WordPieces
from longmind.providers.model_files import MODELS, validate_files
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.settings import load_settings
from training.query_encoder.graph import HEADS, Floats, QueryGraph, Replaced, SourceModel
from training.query_encoder.questions import make_questions

MODEL = MODELS[DEFAULT_MODEL]
OUTPUT = Path(local.__file__).with_name(f"{MODEL.name}.query.onnx")
COUNT = 2000
UNITS = 1152
"""The units of a layer that are kept: three of four."""


_KEPT = ("key", "value")


@dataclass(frozen=True)
class Measured:
    """The embedder on many questions. The first axis is that of the layers."""

    states: NDArray[np.float64]
    """The mean keys and values of the instruction and of the token at the end, as in `Replaced`."""
    means: NDArray[np.float64]
    """The mean of each unit between the two matrices of a layer, over the other tokens."""
    variances: NDArray[np.float64]
    vectors: Floats
    """The vector of each question."""


class Trainer:
    """The embedder and what it makes of the questions."""

    def __init__(self, folder: Path) -> None:
        files = validate_files(MODEL, folder)
        self.folder = files["model.onnx"].parent
        self.source = SourceModel(files["model.onnx"])
        self._tokenizer = WordPieces(files["vocab.txt"], longest=sys.maxsize)
        self._questions = make_questions(COUNT)
        # Without the tokens at the start and at the end.
        self.instruction = len(self._tokenizer.encode(MODEL.query_prefix).ids) - 2

    def measure(self) -> Measured:
        """Run the embedder on all questions after the instruction, and measure its layers."""
        layers = range(len(self.source.layers))
        kept = [f"/encoder/layer.{each}/attention/self/{part}/Add_output_0" for each in layers for part in _KEPT]
        units = [f"/encoder/layer.{each}/intermediate/intermediate_act_fn/Mul_1_output_0" for each in layers]
        model = onnx.ModelProto()
        model.CopyFrom(self.source.proto)
        model.graph.output.extend(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in [*kept, *units]
        )
        session = onnxruntime.InferenceSession(model.SerializeToString(), _one_thread())
        constant = [*range(1, 1 + self.instruction), -1]
        states: Any = 0
        totals: Any = 0
        squares: Any = 0
        vectors, tokens = [], 0
        for question in self._questions:
            ids = self._tokenizer.encode(MODEL.query_prefix + question).ids
            outputs, *found = session.run(None, pad_batch([ids]))
            vectors.append(outputs[0, 0])
            states += np.stack([each[0, constant] for each in found[: len(kept)]]).astype(np.float64)
            active = np.stack([np.delete(each[0], constant, axis=0) for each in found[len(kept) :]]).astype(np.float64)
            totals += active.sum(axis=1)
            squares += (active**2).sum(axis=1)
            tokens += active.shape[1]
        states = (states / len(vectors)).reshape(len(layers), len(_KEPT), len(constant), HEADS, -1)
        means = totals / tokens
        return Measured(states.transpose(0, 1, 3, 2, 4), means, squares / tokens - means**2, np.array(vectors))

    def replace(self, measured: Measured) -> Replaced:
        """Return what takes the place of the instruction, and of the units whose changes change the least."""
        units, means = [], []
        for number, layer in enumerate(self.source.layers):
            scale = self.source.read(layer["output"].replace("_quantized", "_scale"))
            matrix = self.source.read(layer["output"]) * scale
            order = np.argsort(-measured.variances[number] * (matrix**2).sum(axis=1), kind="stable")
            dropped = order[UNITS:]
            units.append(np.sort(order[:UNITS]))
            means.append(measured.means[number, dropped] @ matrix[dropped])
        return Replaced(
            self.instruction,
            measured.states.astype(np.float32),
            np.array(units, np.int32),
            np.array(means, np.float32),
        )

    def encode(self, graph: bytes) -> Floats:
        """Return the vectors of the questions that a graph computes."""
        options = _one_thread()
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(self.folder))
        session = onnxruntime.InferenceSession(graph, options)
        encoded = [self._tokenizer.encode(question).ids[:-1] for question in self._questions]
        return np.array([session.run(None, {"ids": np.array([ids], np.int64)})[0] for ids in encoded])


def train(folder: Path) -> bytes:
    """Return the graph of the query encoder. folder: that of all models."""
    trainer = Trainer(folder)
    measured = trainer.measure()
    wanted, replaced = measured.vectors, trainer.replace(measured)
    last = f"encoder.layer.{len(trainer.source.layers) - 1}.output.LayerNorm"
    scale, shift = trainer.source.read(f"{last}.weight"), trainer.source.read(f"{last}.bias")
    found = trainer.encode(QueryGraph(trainer.source, replaced).build(scale, shift))
    print(f"mean cosine with the vectors of the embedder: {_compare(found, wanted):.4f} without the instruction")
    # Averages take away some of the differences between questions. Each number of a vector gets its mean and deviation
    # back, so that similarities mean the same as before.
    gain = wanted.std(axis=0) / found.std(axis=0)
    moved = wanted.mean(axis=0) - gain * found.mean(axis=0)
    scale, shift = (scale * gain).astype(np.float32), (shift * gain + moved).astype(np.float32)
    written = QueryGraph(trainer.source, replaced).build(scale, shift)
    print(f"and {_compare(trainer.encode(written), wanted):.4f} with their distribution")
    return written


def _one_thread() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return options


def _compare(some: Floats, others: Floats) -> float:
    lengths = np.linalg.norm(some, axis=1) * np.linalg.norm(others, axis=1)
    return float(((some * others).sum(axis=1) / lengths).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=Path(load_settings({}).models_folder), help="folder of models")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    written = train(options.models)
    options.output.write_bytes(written)
    print(f"{options.output}: {len(written):,} bytes, sha256 {hashlib.sha256(written).hexdigest()}")


if __name__ == "__main__":
    main()
