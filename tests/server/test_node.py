"""A client that nobody here has made: Node with its own fetch does the quick start."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import longmind
from tests.server.live_server import serving
from tests.vendor.answer import Answer
from tests.vendor.server import Vendor

NODE = shutil.which("node")


@pytest.mark.conforms("A10.1")
@pytest.mark.skipif(NODE is None, reason="Node is not installed, so that a client of its own cannot be tried")
def test_node_does_the_quick_start_with_plain_fetch(sqlite_url: str, vendor: Vendor) -> None:
    vendor.answers = [Answer("On Tuesday morning.")]
    with longmind.open(sqlite_url, embedder=None) as engine, serving(engine, workers=1) as client:
        key = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada")
        command = [str(NODE), str(Path(__file__).with_name("client.mjs")), client.address, key.token, "ada"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Tuesday" in done.stdout
