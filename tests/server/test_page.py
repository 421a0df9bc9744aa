"""The commands in docs/reference/rest.md do what the page says."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import longmind
from tests.server.live_server import serving
from tests.test_documentation import ROOT, blocks_of

CURL = shutil.which("curl")


@pytest.mark.skipif(CURL is None, reason="curl is not installed, so that its examples cannot be tried")
@pytest.mark.parametrize("user", ["ada", None])
def test_the_examples_with_curl_run_with_a_key_and_without(user: str | None, sqlite_url: str) -> None:
    shown = [block.text for block in blocks_of(ROOT / "docs" / "reference" / "rest.md") if block.info == "sh"]
    with longmind.open(sqlite_url, embedder=None) as engine:
        environment = {"PATH": "/usr/bin:/bin"}
        if user is not None:
            key = engine.keys.create(tenant_id="local", app_id="ipc", user_id=user)
            environment |= {"KEY": key.token, "ME": user}
        with serving(engine, workers=1) as client:
            script = "\n".join(["set -eu", *shown]).replace("http://127.0.0.1:8000", client.address)
            done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        # What was said is remembered, and was found.
        assert '"hits":[{' in done.stdout
        me = engine.context(tenant_id="local", app_id="ipc", user_id=user or "default")
        block = me.blocks.get("core")
        assert block is not None
        assert block.content == "Speaks German and French."
        assert [entry["content"] for entry in me.tools.memory_search("coffee").results] == ["Drinks coffee black."]
