"""Databases made by earlier versions, with their own code: `python -m prove.upgrades.recorder [VERSION ...]`.

Each version is checked out of the history into its own folder and fills a database with `sample_data.py`. The results
are kept under `tests/upgrades/recorded`, so that the tests need neither the history nor the packages of that time.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from harness.postgres import PostgresServer, programs

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "upgrades" / "recorded"
WRITING = Path(__file__).with_name("sample_data.py")

# Every release, and every earlier state of the main branch that changed the schema.
VERSIONS = {
    "schema-02-first": "8b6bd2d7e953dcc1ea4d49619ad7824feb358176",
    "schema-02": "1d19a0c7439d2b10b70c150cadd4965a6d2fd0cc",
    "schema-03": "c1b7e94e8256fdee476081d1d8485d86786edab6",
    "schema-04": "dd3311418802a3a784e075e09ee7b0929fc7b532",
    "schema-05": "83fe3434fec207d891a8547ab5ac115bd7bb6ce3",
    "schema-08": "dcaece0924e6bafae3992376bd278d39f0f67134",
    "schema-14": "6aa09f553d4c1db1e091247cbfffed2505f817fd",
    "schema-15": "0bc626c3562245dec97afbbd20f35f6ef941a762",
    "schema-19": "d969413da4d6690e39d36d42a3e9ffb69ebe9753",
    "v0.1.0": "a5d7cbf77251da0e6dbd9e5d57d17f35d5d096e5",
    "v0.2.0": "32886a27ae6ef35829dd44e8a3dd7b2fb4b60d0d",
}


def main(names: list[str]) -> None:
    with PostgresServer() as server, tempfile.TemporaryDirectory() as folder:
        for name in names or VERSIONS:
            code = check_out(VERSIONS[name], Path(folder) / name)
            target = RECORDED / name
            target.mkdir(parents=True, exist_ok=True)
            file = Path(folder) / f"{name}.db"
            _keep(target / "sqlite.json.gz", _as_bytes(fill_with(code, f"sqlite:///{file}")))
            _keep(target / "sqlite.db.gz", file.read_bytes())
            url = server.create_database(name)
            _keep(target / "postgres.json.gz", _as_bytes(fill_with(code, url)))
            _keep(target / "postgres.sql.gz", dump(url, package_in(code)))
            print(name, {each.name: each.stat().st_size for each in sorted(target.iterdir())}, flush=True)


def is_here(commit: str) -> bool:
    """Return whether the history has a commit; without git, in an archive or in a shallow clone it has not."""
    try:
        asked = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{tree}}"], cwd=ROOT, capture_output=True)
    except FileNotFoundError:
        return False
    return asked.returncode == 0


def check_out(commit: str, folder: Path) -> Path:
    """Check out the source of a version into a folder."""
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def fill_with(code: Path, url: str) -> dict[str, Any]:
    """Fill a database with a version's own code, and return the manifest that it prints."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("LONGMIND_", "RECOLLECT_"))
    }
    done = subprocess.run(
        [sys.executable, str(WRITING), url, package_in(code)],
        env={**environment, "PYTHONPATH": str(code)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        raise RuntimeError(f"{code} could not fill {url}:\n{done.stderr}")
    manifest: dict[str, Any] = json.loads(done.stdout)
    return manifest


def package_in(code: Path) -> str:
    """Return the name of the import package of a version."""
    return next(each.name for each in code.iterdir() if each.is_dir())


def dump(url: str, schema: str) -> bytes:
    """Return a PostgreSQL database as statements that any client can run."""
    command = [str(programs() / "pg_dump"), "--inserts", "--no-owner", f"--schema={schema}", "--extension=vector", url]
    dumped = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
    # These lines are for psql alone, and differ between runs.
    return re.sub(rb"^\\(un)?restrict .*\n", b"", dumped, flags=re.MULTILINE)


def _as_bytes(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def _keep(path: Path, content: bytes) -> None:
    # Without a time, equal contents give equal files.
    path.write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
