"""The graph of the query encoder: operators that onnxruntime runs fused, and references to the embedder's weights.

Matrices are not copied: the graph names their places in the embedder's file, whose checksum is pinned. Vectors and
scales are copied, since in that file they do not begin where numbers of four bytes may.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx  # type: ignore[import-not-found]  # only this program needs it
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Floats = NDArray[np.float32]

HEADS = 12
LONGEST = 256
_FUSED = "com.microsoft"
_TINY = 1e-12
"""What the model adds to a variance before it divides by its root."""


class SourceModel:
    """The embedder's file: its weights by name, and where in the file they are."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.proto: Any = onnx.load(path)
        self._bytes = path.read_bytes()
        self._tensors = {tensor.name: tensor for tensor in self.proto.graph.initializer}
        matrices = [node.input[1] for node in self.proto.graph.node if node.op_type == "MatMulInteger"]
        each = len(_MATRICES)
        self.layers = [
            dict(zip(_MATRICES, matrices[first : first + each], strict=True)) for first in range(0, len(matrices), each)
        ]
        """For each layer, the tensor of each matrix."""

    def read(self, name: str) -> Floats:
        found: Floats = np.asarray(numpy_helper.to_array(self._tensors[name]))
        return found

    def refer(self, name: str) -> Any:
        """Return a tensor that stands for one of this file."""
        tensor = self._tensors[name]
        offset = self._bytes.index(tensor.raw_data)
        outside = TensorProto(name=name, data_type=tensor.data_type, dims=tensor.dims)
        outside.data_location = TensorProto.EXTERNAL
        place = {"location": self.name, "offset": offset, "length": len(tensor.raw_data)}
        for key, value in place.items():
            outside.external_data.add(key=key, value=str(value))
        return outside


_MATRICES = ("query", "key", "value", "attention.output", "intermediate", "output")


@dataclass(frozen=True)
class Replaced:
    """What the graph has in the place of something that the embedder computes. The first axis is that of the layers."""

    skipped: int
    """The tokens of the instruction, whose positions no token of a question has."""
    states: Floats
    """The keys and values of the instruction and of the token at the end: layers, 2, heads, tokens, numbers."""
    units: NDArray[np.int32]
    """The units between the two matrices of a layer that are kept, by their places."""
    means: Floats
    """The mean of what the other units add to the output of their layer."""


class QueryGraph:
    """A graph under construction."""

    def __init__(self, source: SourceModel, replaced: Replaced) -> None:
        self._source = source
        self._replaced = replaced
        self._nodes: list[Any] = []
        self._tensors: dict[str, Any] = {}

    def build(self, scale: Floats, shift: Floats) -> bytes:
        """Return the graph as a file. scale, shift: those of the last normalisation."""
        self._keep("from", np.array([0]))
        self._keep("one", np.array([1]))
        states = self._embed()
        last = len(self._source.layers) - 1
        for number in range(last):
            prefix = f"encoder.layer.{number}.output.LayerNorm"
            weights = self._source.read(f"{prefix}.weight"), self._source.read(f"{prefix}.bias")
            states = self._add_layer(number, states, *weights)
        self._keep("size", np.array([-1]))
        vector = self._add_layer(last, states, scale, shift, first_only=True)
        self._add("Reshape", [vector, "size"], "vector")
        graph = helper.make_graph(
            self._nodes,
            "query encoder",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [scale.size])],
            list(self._tensors.values()),
        )
        versions = [helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)]
        written: bytes = helper.make_model(graph, opset_imports=versions, ir_version=8).SerializeToString()
        return written

    def _embed(self) -> str:
        """Add the embeddings of tokens and positions; return the name of the first layer's input."""
        words, positions, kinds = (
            f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")
        )
        for name in (words, positions):
            self._refer(f"{name}_quantized")
            self._keep(f"{name}_scale", self._source.read(f"{name}_scale"))
            self._keep(f"{name}_zero", self._source.read(f"{name}_zero_point"))
        self._add("Gather", [f"{words}_quantized", "ids"], "words", axis=0)
        self._add("DequantizeLinear", ["words", f"{words}_scale", f"{words}_zero"], "word states")
        # The first token stays at the first position, and the question begins where it would after the instruction.
        skipped = self._replaced.skipped
        self._keep("taken", np.r_[0, 1 + skipped : LONGEST + skipped])
        self._add("Gather", [f"{positions}_quantized", "taken"], "all places", axis=0)
        self._add("Shape", ["ids"], "tokens", start=1)
        self._add("Slice", ["all places", "from", "tokens", "from"], "places")
        self._add("DequantizeLinear", ["places", f"{positions}_scale", f"{positions}_zero"], "place states")
        kind = self._source.read(f"{kinds}_quantized").astype(np.float32) - self._source.read(f"{kinds}_zero_point")
        self._keep("kind", (kind[0] * self._source.read(f"{kinds}_scale")).astype(np.float32))
        self._add("Add", ["place states", "kind"], "place and kind")
        return self._add_norm(
            "word states",
            "place and kind",
            self._source.read("embeddings.LayerNorm.weight"),
            self._source.read("embeddings.LayerNorm.bias"),
            "embeddings",
        )

    def _add_layer(self, number: int, states: str, scale: Floats, shift: Floats, first_only: bool = False) -> str:
        """Add a layer; return the name of its output. first_only: whether only the first token is needed of it."""
        name, read = f"encoder.layer.{number}", self._source.read
        attended = self._attend(number, states)
        if first_only:
            for each in (attended, states):
                self._add("Slice", [each, "from", "one", "one"], f"first {each}")
            attended, states = f"first {attended}", f"first {states}"
        mixed = self._multiply(number, attended, "attention.output")
        weights = read(f"{name}.attention.output.LayerNorm.weight"), read(f"{name}.attention.output.LayerNorm.bias")
        states = self._add_norm(mixed, states, *weights, f"{number} attention")
        inner = self._multiply(number, states, "intermediate")
        active = self._add("Gelu", [inner], f"{number} active", _FUSED)
        outer = self._multiply(number, active, "output")
        return self._add_norm(outer, states, scale, shift, f"{number}")

    def _attend(self, number: int, states: str) -> str:
        """Add the attention of a layer to its tokens and to the fixed states."""
        constants = self._replaced.states[number]
        together = self._multiply(number, states, "query", "key", "value")
        self._keep("thirds", np.full(3, constants.shape[1] * constants.shape[3]))
        parts = [f"{number} {part}" for part in ("query", "key", "value")]
        self._nodes.append(helper.make_node("Split", [together, "thirds"], parts, axis=-1))
        fixed = [f"{number} fixed {part}" for part in ("keys", "values")]
        for name, values in zip(fixed, constants, strict=True):
            self._keep(name, values[None])
        # The inputs left out: a bias, a mask of padding, and a bias of the attention.
        inputs, unused = [*parts, "", "", "", *fixed], [f"{number} all {part}" for part in ("keys", "values")]
        outputs = [f"{number} attended", *unused]
        self._nodes.append(helper.make_node("MultiHeadAttention", inputs, outputs, domain=_FUSED, num_heads=HEADS))
        return outputs[0]

    def _multiply(self, number: int, states: str, *parts: str) -> str:
        """Add one product with the matrices of some parts of a layer, side by side, and their biases."""
        name, read = f"{number} {parts[0]}", self._source.read
        matrices = [self._source.layers[number][part] for part in parts]
        for matrix in matrices:
            self._refer(matrix)
        scale = np.concatenate([read(matrix.replace("_quantized", "_scale")) for matrix in matrices])
        bias = np.concatenate([read(_name_bias(number, part)) for part in parts])
        matrix, units = matrices[0], self._replaced.units[number]
        # The matrices are put together when the graph is loaded, and not in each run.
        if len(matrices) > 1:
            matrix = self._add("Concat", matrices, f"{name} matrix", axis=1)
        elif parts[0] in ("intermediate", "output"):
            self._keep(f"{number} units", units)
            axis = int(parts[0] == "intermediate")
            matrix = self._add("Gather", [matrix, f"{number} units"], f"{name} matrix", axis=axis)
            scale, bias = (scale[units], bias[units]) if axis else (scale, bias + self._replaced.means[number])
        self._keep(f"{name} scale", scale)
        self._keep(f"{name} bias", bias)
        inputs = [states, matrix, f"{name} scale", "", f"{name} bias"]
        return self._add("DynamicQuantizeMatMul", inputs, f"{name} product", _FUSED)

    def _add_norm(self, one: str, other: str, scale: Floats, shift: Floats, name: str) -> str:
        self._keep(f"{name} scale of norm", scale)
        self._keep(f"{name} shift of norm", shift)
        self._add("Add", [one, other], f"{name} sum")
        inputs = [f"{name} sum", f"{name} scale of norm", f"{name} shift of norm"]
        return self._add("LayerNormalization", inputs, f"{name} states", axis=-1, epsilon=_TINY)

    def _add(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def _keep(self, name: str, values: NDArray[Any]) -> None:
        self._tensors[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)

    def _refer(self, name: str) -> None:
        self._tensors[name] = self._source.refer(name)


def _name_bias(number: int, part: str) -> str:
    dense = f"attention.self.{part}" if part in ("query", "key", "value") else f"{part}.dense"
    return f"encoder.layer.{number}.{dense}.bias"
