"""The description of the server is current, complete, and true of the server that runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it comes with schemathesis, and without its types
import pytest

import longmind
from longmind.server.routes import make_routes
from tests.server.live_server import Client, serving
from tools import openapi

FOLDER = Path(__file__).parent
DESCRIPTION: dict[str, Any] = json.loads(openapi.PATH.read_text("utf-8"))
OPERATIONS = [
    pytest.param(path, method, described, id=described["operationId"])
    for path, methods in DESCRIPTION["paths"].items()
    for method, described in methods.items()
]


def test_the_description_that_is_kept_is_the_one_that_is_served() -> None:
    assert openapi.PATH.read_text("utf-8") == openapi.written(), "run python -m tools.openapi"
    with longmind.open("sqlite:///:memory:", embedder=None) as engine, serving(engine) as client:
        assert client.get("/openapi.json").json == DESCRIPTION


def test_every_route_is_described() -> None:
    assert {each.id for each in make_routes()} == {parameters.values[2]["operationId"] for parameters in OPERATIONS}  # type: ignore[index]


@pytest.mark.parametrize(("path", "method", "described"), OPERATIONS)
def test_each_operation_has_a_summary_an_example_that_fits_and_typed_errors(
    path: str, method: str, described: dict[str, Any]
) -> None:
    assert described["summary"]
    assert {"400", "401", "403", "404", "429", "500", "503"} <= described["responses"].keys()
    for status, response in described["responses"].items():
        if status >= "400":
            name = response["$ref"].rpartition("/")[2]
            assert "application/problem+json" in DESCRIPTION["components"]["responses"][name]["content"]
    examples = [(each["schema"], each["example"]) for each in described.get("parameters", []) if "example" in each]
    if "requestBody" in described:
        content = described["requestBody"]["content"]["application/json"]
        examples.append((content["schema"], content["example"]))
    for schema, example in examples:
        jsonschema.validate(example, {**schema, "components": DESCRIPTION["components"]})


def fuzzed(client: Client, key: str, folder: Path, *options: str) -> int:
    """Let schemathesis loose on a server with every check on; gives how many requests it has made up."""
    report = folder / "report.json"
    program = str(Path(sys.executable).with_name("schemathesis"))
    command = [program, "--config-file", str(FOLDER / "schemathesis.toml"), "run"]
    asked = [f"{client.address}/openapi.json", "--checks", "all", *options]
    asked += ["--header", f"Authorization: Bearer {key}", "--header", "X-Longmind-User: ada"]
    told = ["--report", "json", "--report-json-path", str(report), "--no-shrink", "--continue-on-failure"]
    # The first turn loads the library of a vendor, which takes its time on a busy machine.
    told += ["--request-timeout", "90", "--max-response-time", "90"]
    done = subprocess.run([*command, *asked, *told], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    generated: int = json.loads(report.read_text("utf-8"))["test_cases"]["generated"]
    return generated


@pytest.mark.parametrize(
    ("options", "least"),
    [
        pytest.param(("--phases", "fuzzing", "-n", "1", "--seed", "1"), 90, id="short"),
        pytest.param(("-n", "20"), 5_000, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_made_up_requests_find_no_fault_and_nothing_that_is_not_described(
    engine: longmind.Engine, tmp_path: Path, options: tuple[str, ...], least: int
) -> None:
    # Not a key of the user's own, which would be gone with the first request to erase everything.
    key = engine.keys.create(tenant_id="acme", app_id="support", any_user=True)
    with serving(engine) as client:
        assert fuzzed(client, key.token, tmp_path, *options) >= least
