"""The process that keeps one PostgreSQL server for as long as its own standard input stays open.

However the process that started it ends, by `kill -9` too, the input closes; the keeper then ends the
server and removes its folder, unless that is to be kept. An ordinary stop takes the same way, so that
way is always exercised.

The first line it reads is its order, as JSON; a further line is `stop`, or the mode to restart with.
It answers an order or a restart with `null`, or with what went wrong. It needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

UNPRIVILEGED_ACCOUNT = "nobody"
START_SECONDS = "60"


class ProgramFailed(Exception):
    """A program of PostgreSQL failed."""


class Order(TypedDict):
    folder: str
    package: str
    settings: dict[str, str]
    password: str | None
    network: str | None
    kept: bool


class Cluster:
    """A PostgreSQL data folder and the programs that work on it, run without root's rights."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.folder = Path(order["folder"])
        self.data = self.folder / "data"
        self.account = _find_account() if os.geteuid() == 0 else None
        self.programs = Path(order["package"]) / "pginstall" / "bin"

    def start(self) -> None:
        self._give_to_account(self.folder)
        if not self._can_use_installation():
            self._copy_installation()
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        self._pg_ctl("start", "--log", str(self.folder / "log"))

    def restart(self, mode: str) -> None:
        self._pg_ctl("restart", "--mode", mode, "--log", str(self.folder / "log"))

    def end(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.order["kept"]:
            try:
                self._pg_ctl("stop", "--mode", "fast")
            except ProgramFailed:
                # Its disk may be full or gone, so that it cannot write out what it has.
                with suppress(ProgramFailed):
                    self._pg_ctl("stop", "--mode", "immediate")
        else:
            self._remove()

    def _remove(self) -> None:
        # The data is about to be thrown away, so there is nothing to write out first.
        if (self.data / "postmaster.pid").exists():
            with suppress(ProgramFailed):
                self._pg_ctl("stop", "--mode", "immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _initialise(self) -> None:
        arguments = ["--pgdata", str(self.data), "--username", "postgres", "--no-sync"]
        # The built-in locale is the same on every machine.
        arguments += ["--encoding", "UTF8", "--locale", "C"]
        arguments += ["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"]
        # The folder is private to the account, so the socket in it needs no password.
        arguments += ["--auth-local", "trust", "--auth-host", "scram-sha-256"]
        for name, value in self.order["settings"].items():
            arguments += ["--set", f"{name}={value}"]
        if password := self.order["password"]:
            password_file = self.folder / "password"
            password_file.touch(mode=0o600)
            password_file.write_text(password)
            self._give_to_account(password_file)
            arguments += ["--pwfile", str(password_file)]
        self._run("initdb", *arguments)
        if network := self.order["network"]:
            with (self.data / "pg_hba.conf").open("a") as file:
                print("host", "all", "all", network, "scram-sha-256", file=file)

    def _pg_ctl(self, action: str, *arguments: str) -> None:
        self._run("pg_ctl", action, "--pgdata", str(self.data), "--wait", "--timeout", START_SECONDS, *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        # A file rather than a pipe: the server inherits it and would keep a pipe open for ever. Not in the server's
        # folder, which may be on a disk that cannot be written any more.
        with tempfile.TemporaryFile() as output:
            status = self._as_account([str(self.programs / program), *arguments], output)
            output.seek(0)
            text = output.read().decode(errors="replace")
        if status != 0:
            log = self.folder / "log"
            text += f"\n{log.read_text(errors='replace')}" if log.exists() else ""
            raise ProgramFailed(f"{program} ended with status {status}.\n{text.strip()}")

    def _as_account(self, command: list[str], output: Any = subprocess.DEVNULL) -> int:
        rights: dict[str, Any] = {}
        if self.account is not None:
            rights = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        # The caller's PG* variables and working folder, which the account may not enter, stay out of it.
        environment = {"PATH": os.defpath, "LC_ALL": "C"}
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=environment,
            check=False,
            **rights,
        ).returncode

    def _can_use_installation(self) -> bool:
        root = self.programs.parent
        samples = [root / "bin" / "postgres", root / "lib" / "vector.so", root / "share" / "postgres.bki"]
        return all(self._as_account(["/bin/sh", "-c", 'test -r "$0"', str(path)]) == 0 for path in samples)

    def _copy_installation(self) -> None:
        # The wheel keeps shared libraries beside the package, where the programs look for them.
        package = self.programs.parent.parent
        copy = self.folder / "installation"
        for tree in package.parent.glob(f"{package.name}*"):
            if tree.is_dir():
                shutil.copytree(tree, copy / tree.name, symlinks=True, ignore=shutil.ignore_patterns("include"))
        for path in (copy, *copy.rglob("*")):
            self._give_to_account(path)
        self.programs = copy / package.name / "pginstall" / "bin"

    def _give_to_account(self, path: Path) -> None:
        if self.account is not None:
            os.chown(path, self.account.pw_uid, self.account.pw_gid, follow_symlinks=False)


def _find_account() -> pwd.struct_passwd | None:
    # Without the account, PostgreSQL itself explains that root may not run it.
    try:
        return pwd.getpwnam(UNPRIVILEGED_ACCOUNT)
    except KeyError:
        return None


def answer(failure: str | None = None) -> None:
    # The starting process may be gone already, which the next read shows.
    with suppress(BrokenPipeError):
        print(json.dumps(failure), flush=True)


def keep(cluster: Cluster) -> None:
    try:
        cluster.start()
        answer()
        while (word := sys.stdin.readline().strip()) not in ("", "stop"):
            cluster.restart(word)
            answer()
    except (ProgramFailed, OSError) as failure:
        answer(str(failure))
    finally:
        cluster.end()


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if order := sys.stdin.readline():
        keep(Cluster(json.loads(order)))


if __name__ == "__main__":
    main()
