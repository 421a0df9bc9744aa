"""Several machines on one: network namespaces on a bridge, and ways to break the lines between them.

Nothing of the network that the machine itself uses is touched: the bridge has a namespace of its own too.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

SUBNET = "10.77.0.0/24"
_TAG = "rcnet"
_NOBODY = "02:00:00:00:00:99"
"""A station that does not exist: what is sent to it is lost without a word, as on a broken line."""


def cannot() -> str | None:
    """Return why this machine cannot have a network of namespaces; None when it can."""
    if os.name != "posix" or shutil.which("ip") is None:
        return "the command ip of iproute2 is not there"
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = f"probe-{secrets.token_hex(3)}"
    for command in (f"netns add {probe}", f"-n {probe} link add veth0 type veth peer name veth1", f"netns del {probe}"):
        tried = subprocess.run(["ip", *command.split()], capture_output=True, text=True)
        if tried.returncode:
            subprocess.run(["ip", "netns", "del", probe], capture_output=True)
            return f"ip {command}: {tried.stderr.strip()}"
    return None


class Machine:
    """One namespace with one line to the switch."""

    def __init__(self, name: str, namespace: str, number: int) -> None:
        self.name = name
        self.namespace = namespace
        self.address = f"10.77.0.{number}"
        self.hardware = f"02:00:00:00:01:{number:02x}"
        self.port = f"port{number}"
        self.subnet = SUBNET

    @property
    def inside(self) -> tuple[str, ...]:
        """Return the prefix of a command that runs on this machine."""
        return ("ip", "netns", "exec", self.namespace)


class Network:
    """The machines, and the state of the lines between them."""

    def __init__(self, tag: str, names: tuple[str, ...]) -> None:
        self.switch = f"{tag}-switch"
        self.machines = {name: Machine(name, f"{tag}-{name}", number) for number, name in enumerate(names, start=2)}

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    def build(self) -> None:
        _ip("netns", "add", self.switch)
        _ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self.switch, "link", "set", "bridge", "up")
        for machine in self.machines.values():
            _ip("netns", "add", machine.namespace)
            line = ["link", "add", machine.port, "type", "veth", "peer", "name", "eth0"]
            _ip("-n", self.switch, *line, "address", machine.hardware, "netns", machine.namespace)
            _ip("-n", self.switch, "link", "set", machine.port, "master", "bridge", "up")
            _ip("-n", machine.namespace, "address", "add", f"{machine.address}/24", "dev", "eth0")
            _ip("-n", machine.namespace, "link", "set", "eth0", "up")
            _ip("-n", machine.namespace, "link", "set", "lo", "up")
        for machine in self.machines.values():
            self.heal(machine.name)

    def remove(self) -> None:
        for namespace in (self.switch, *(machine.namespace for machine in self.machines.values())):
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", namespace)

    def unplug(self, name: str) -> None:
        """Take the line of a machine down, which the machine notices, since its card loses the carrier."""
        _ip("-n", self.switch, "link", "set", self.machines[name].port, "down")

    def plug_in(self, name: str) -> None:
        _ip("-n", self.switch, "link", "set", self.machines[name].port, "up")

    def lose(self, sender: str, receiver: str) -> None:
        """Lose silently all that one machine sends to another, and nothing that comes back."""
        self._know(self.machines[sender], self.machines[receiver], _NOBODY)

    def cut(self, name: str, other: str) -> None:
        """Lose all between two machines, silently."""
        self.lose(name, other)
        self.lose(other, name)

    def mend(self, name: str, other: str) -> None:
        """Let two machines hear each other again."""
        one, two = self.machines[name], self.machines[other]
        self._know(one, two, two.hardware)
        self._know(two, one, one.hardware)

    def heal(self, name: str) -> None:
        """Let a machine hear and be heard by all others again."""
        for other in self.machines:
            if other != name:
                self.mend(name, other)

    def _know(self, who: Machine, whom: Machine, hardware: str) -> None:
        _ip(
            "-n", who.namespace, "neigh", "replace", whom.address,
            "lladdr", hardware, "dev", "eth0", "nud", "permanent",
        )  # fmt: skip


@contextmanager
def network(*names: str) -> Iterator[Network]:
    """A network with a machine for each name, gone at the end of the block."""
    remove_leftovers()
    made = Network(f"{_TAG}{os.getpid()}x{secrets.token_hex(2)}", names)
    try:
        made.build()
        yield made
    finally:
        made.remove()


def remove_leftovers() -> None:
    """Remove the networks of runs that were killed, with what still runs in them. They are known by their names."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    for namespace, owner in re.findall(rf"^({_TAG}([0-9]+)x[0-9a-f]+-\S+)", listed, re.MULTILINE):
        if psutil.pid_exists(int(owner)):
            continue
        inside = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True).stdout
        for process in inside.split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        with suppress(subprocess.CalledProcessError):
            _ip("netns", "del", namespace)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
