"""Fixtures: every test that takes `database_url`, or what is built on it, runs on both engines."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import longmind
from harness.clean_databases import CleanDatabases
from harness.log_watch import watch_logs
from harness.network import loopback_only
from harness.postgres import PostgresServer
from harness.run_watch import RunWatch
from tests.selection import QuickSelection
from tests.vendor.server import Vendor, vendor_running

TEMPLATE = "longmind_template"

_numbers = count(1)

# A machine that is busy with other things is slow, which is no fault of what is tried. And what is tried is the same in
# every run, so that a test fails by what was changed and not by its draw; `--hypothesis-profile=exploring` draws anew.
settings.register_profile("exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("certain", settings.get_profile("exploring"), derandomize=True)
settings.register_profile("quick", settings.get_profile("certain"), max_examples=20)
settings.load_profile("certain")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run the core tests without PostgreSQL, in under a minute")


def pytest_configure(config: pytest.Config) -> None:
    # A test may have no model; it must not fetch one, and neither may the programs that it starts.
    os.environ["LONGMIND_OFFLINE"] = "1"
    if config.getoption("--quick"):
        config.pluginmanager.register(QuickSelection())
        settings.load_profile("quick")


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    with loopback_only():
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_secrets_in_logs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No log of the whole run, or of a worker's part of it, has a secret or a user's words in it."""
    level = logging.getLogger("longmind").level
    logging.getLogger("longmind").setLevel(logging.DEBUG)
    with watch_logs(tmp_path_factory.mktemp("logs") / "all.log") as watch:
        request.config.pluginmanager.register(RunWatch(watch))
        yield
        found = watch.find_secrets()
    logging.getLogger("longmind").setLevel(level)
    assert not found, f"{len(found)} secrets were logged: {found[:5]}"


@pytest.fixture(scope="session", autouse=True)
def _no_sleep_time() -> Iterator[None]:
    """Engines queue no updates of blocks by themselves: tests count jobs, and those of this have them turned on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGMIND_SLEEP_TIME", "off")
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One real PostgreSQL for the whole run, or for each worker of pytest-xdist."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_databases(postgres_server: PostgresServer) -> CleanDatabases:
    """Databases with every migration applied and nothing in them."""
    longmind.open(postgres_server.create_database(TEMPLATE)).close()
    return CleanDatabases(postgres_server, TEMPLATE)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty PostgreSQL database, with no migration applied."""
    name = f"test_{next(_numbers)}"
    try:
        yield postgres_server.create_database(name)
    finally:
        postgres_server.drop_database(name)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An SQLite database that does not exist yet."""
    return f"sqlite:///{tmp_path}/memory.db"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with every migration applied, once on each engine."""
    # Fetched by name, so that a run on SQLite alone starts no PostgreSQL.
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_url")
        return
    databases: CleanDatabases = request.getfixturevalue("postgres_databases")
    with databases.lend() as url:
        yield url


@pytest.fixture
def engine(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url) as engine:
        yield engine


@pytest.fixture
def ctx(engine: longmind.Engine) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada")


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    """A server on this machine that all clients of vendors are led to, those of programs that a test starts too."""
    with vendor_running() as vendor:
        for name, value in vendor.environment.items():
            monkeypatch.setenv(name, value)
        yield vendor
