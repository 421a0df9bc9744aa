"""What is written down is true: examples run, reference and tables are current, nothing public is left out."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

import longmind
from harness.postgres import PostgresServer, as_role
from longmind.operations import OPERATIONS
from tests.vendor.answer import Answer, Asked
from tests.vendor.server import Vendor
from tools import docs

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
EXPLANATION = ROOT / "docs" / "explanation"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# What a person wrote: the reference mentions everything by itself.
WRITTEN = [page for page in PAGES if page.name not in ("operations.md", "conformance.md", "CHANGELOG.md")]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
POSTGRES_PLACEHOLDER = "postgresql://longmind:secret@db.example/longmind"


def answer_as_a_cook(asked: Asked) -> Answer:
    """What the models of the guides on SDKs say, by the question and by what their instructions remember."""
    said = asked.last_text
    if "coffee black" in said and asked.body.get("tools"):
        given = {"type": "preference", "content": "Drinks coffee black."}
        return Answer(tools=(("memory_store", json.dumps(given)),))
    if "allergic to peanuts." in said:
        return Answer("I will remember that.")
    if "dinner" in said:
        knows = "allergic to peanuts" in asked.system
        return Answer("A curry with cashews, without peanuts." if knows else "Peanut soup.")
    if "Good evening" in said:
        return Answer("Good evening, Ada.")
    if "How do I drink" in said:
        return Answer("You drink it black." if "coffee black" in asked.system else "I do not know.")
    return Answer("Noted: black coffee.")


ANSWERS = {f"docs/how-to/{name}.md": answer_as_a_cook for name in ("openai", "anthropic")}
# A block that cannot be run has to be defended here, by its page and its first line.
NOT_RUN: set[tuple[str, str]] = set()


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    info: str
    text: str

    @property
    def printed(self) -> list[str]:
        """What the block says it prints."""
        return re.findall(r"^\s*#> ?(.*)$", self.text, re.MULTILINE)


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for found in re.finditer(r"^```(.*)\n((?s:.*?))^```$", text, re.MULTILINE):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[1].strip(), found[2])


def prose_of(page: Path) -> str:
    return re.sub(r"^```(?s:.*?)^```$", "", page.read_text("utf-8"), flags=re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory and a home of its own, so that no example touches what belongs to somebody."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    # As users have it; the other tests turn it off.
    monkeypatch.delenv("LONGMIND_SLEEP_TIME")
    monkeypatch.setenv("LONGMIND_URL", f"sqlite:///{tmp_path}/default.db")
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in page.read_text("utf-8")], ids=name_of)
@pytest.mark.usefixtures("elsewhere")
def test_the_python_blocks_of_a_page_run_and_print_what_they_say(page: Path, request: pytest.FixtureRequest) -> None:
    if name_of(page) in ANSWERS:
        vendor: Vendor = request.getfixturevalue("vendor")
        vendor.answers = ANSWERS[name_of(page)]
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.info != "python":
            continue
        text = block.text
        if POSTGRES_PLACEHOLDER in text:
            text = text.replace(POSTGRES_PLACEHOLDER, request.getfixturevalue("postgres_url"))
        printed = io.StringIO()
        # The empty lines before make a traceback name the line of the page.
        code = compile("\n" * block.line + text, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        assert printed.getvalue().splitlines() == block.printed, f"{name_of(page)}, line {block.line}"


def test_a_block_that_is_not_run_is_defended() -> None:
    marked = {
        (name_of(block.page), block.text.splitlines()[0])
        for page in PAGES
        for block in blocks_of(page)
        if block.info.startswith("python ")
    }

    assert marked == NOT_RUN


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_an_example_runs(script: Path, elsewhere: Path) -> None:
    done = run(script)

    assert done.returncode == 0, done.stderr
    # In an empty home there is no model, and the log says so.
    assert re.fullmatch("(recall goes by words alone, not by meaning: .*\n)?", done.stderr)
    assert done.stdout


def test_the_demonstration_holds_on_both_engines(database_url: str, elsewhere: Path) -> None:
    done = run_demo("--url", database_url)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "[FAILED]" not in done.stdout
    assert done.stdout.count("[ok]") > 15


def test_the_demonstration_cleans_up_after_itself(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = elsewhere / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))

    assert run_demo().returncode == 0

    assert list(temporary.iterdir()) == []
    assert list(elsewhere.iterdir()) == [temporary]


def test_the_demonstration_fails_when_it_cannot_be_given(elsewhere: Path) -> None:
    unreachable = run_demo("--url", "sqlite:////dev/null/memory.db")

    assert unreachable.returncode == 1
    assert "Error: " in unreachable.stderr
    assert "Hint: " in unreachable.stderr


def test_the_quickstart_goes_on_where_its_first_run_stopped(elsewhere: Path) -> None:
    script = ROOT / "examples" / "quickstart.py"

    first, second = run(script), run(script)

    assert "user" not in first.stdout
    assert second.stdout.startswith("  1  user       I prefer meetings on Tuesday mornings.")


def test_what_the_code_says_is_written_down_as_it_is_now() -> None:
    assert docs.main(["--check"]) == 0, "run python -m tools.docs"


def test_the_check_notices_a_page_that_is_not_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "docs", tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(docs, "DOCS", tmp_path)
    settings = tmp_path / "reference" / "settings.md"
    current = settings.read_text("utf-8")
    settings.write_text(current.replace("LONGMIND_POOL_SIZE", "LONGMIND_POND_SIZE"), "utf-8")

    assert docs.main(["--check"]) == 1
    assert "docs/reference/settings.md is not current" in capsys.readouterr().err
    assert docs.main([]) == 0
    assert settings.read_text("utf-8") == current


def test_every_operation_is_explained_beyond_the_reference() -> None:
    written = "\n".join(page.read_text("utf-8") for page in WRITTEN)

    assert [each.path for each in OPERATIONS if not mentions(written, each.name)] == []


def test_every_parameter_is_named_in_its_docstring() -> None:
    missing = [
        f"{each.path}: {name}"
        for each in OPERATIONS
        for name in each.signature.parameters
        if not mentions(inspect.getdoc(each.method) or "", name)
    ]
    assert missing == []


def test_every_public_name_is_explained() -> None:
    written = "\n".join(page.read_text("utf-8") for page in PAGES)
    methods = [name for name, _ in docs.engine_methods()]

    assert [name for name in longmind.__all__ if not mentions(written, name)] == []
    assert [name for name in methods if not mentions(written, name.rpartition(".")[2])] == []


def test_every_setting_is_in_the_page_on_settings() -> None:
    page = (REFERENCE / "settings.md").read_text("utf-8")
    names = [each.name for each in dataclasses.fields(longmind.Settings)]

    assert [name for name in names if f"`{name}`, `LONGMIND_{name.upper()}`" not in page] == []


def test_every_error_is_in_the_page_on_errors_with_its_status() -> None:
    tree = next(block.text for block in blocks_of(REFERENCE / "errors.md") if block.info == "text")
    classes = [
        each for each in vars(longmind).values() if inspect.isclass(each) and issubclass(each, longmind.LongmindError)
    ]

    assert [each.__name__ for each in classes if not mentions(tree, each.__name__)] == []
    assert len(classes) == len(tree.strip().splitlines())
    for each in classes:
        drawn = re.search(rf"\b{each.__name__} +(\d+)?", tree)
        # A line without a status has the one of the class it hangs under.
        if drawn and drawn[1]:
            assert int(drawn[1]) == each.status
        elif each is not longmind.LongmindError:
            assert each.status == each.__mro__[1].status  # type: ignore[attr-defined]


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[\[<>=~! ;]", requirement)[0] for group in groups for requirement in group}
    explained = set(re.findall(r"^\| `([\w.-]+)` \| \w", (REFERENCE / "dependencies.md").read_text("utf-8"), re.M))

    assert explained == names


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)]+)\)", prose_of(page)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists() or (anchor and anchor not in anchors_of(file)):
                broken.append(f"{name_of(page)}: {target}")

    assert broken == []


def test_every_page_can_be_reached_from_the_map() -> None:
    documents = ROOT / "docs"
    reached: set[Path] = set()
    ahead = [documents / "index.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        # Pages that list others pass them on; all other pages have to be listed.
        if page.name == "index.md":
            targets = re.findall(r"\]\(([\w./-]+\.md)\)", page.read_text("utf-8"))
            ahead += [found for target in targets if (found := (page.parent / target).resolve()) not in reached]

    assert sorted(name_of(page) for page in set(documents.rglob("*.md")) - reached) == []


def test_the_architecture_names_files_and_functions_that_exist() -> None:
    page = prose_of(ROOT / "docs" / "architecture.md")
    source = ROOT / "src" / "longmind"
    wrong = []
    for path, name in re.findall(r"`([\w/]+\.py)`(?:[\s(]+`(\w+)`)?", page):
        file = source / path
        if not file.exists():
            wrong.append(path)
        elif name and not re.search(rf"^\s*(?:async )?(?:def|class) {name}\b", file.read_text("utf-8"), re.MULTILINE):
            wrong.append(f"{path} {name}")
    wrong += [path for path in re.findall(r"`([a-z]+(?:/[a-z_]+)+)`", page) if not (source / path).is_dir()]

    assert wrong == []


def test_the_layers_of_the_architecture_are_those_of_the_contract() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE)
    described = [set(re.findall(r"`([^`]+)`", layer)) for row in rows for layer in row.split(", ")]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [set(re.findall(r"longmind\.([\w.]+)", layer)) for layer in contracts[0]["layers"]]

    assert [{name.removesuffix(".py").replace("/", ".") for name in layer} for layer in described] == layers


def test_the_layers_of_the_architecture_hold_the_whole_package() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    source = ROOT / "src" / "longmind"
    rooms = [each.stem if each.is_dir() else each.name for each in source.iterdir() if not each.name.startswith("_")]

    assert [room for room in sorted(rooms) if not re.search(rf"`{room}[`/]", page) and room != "py.typed"] == []


def test_the_readme_begins_with_two_commands() -> None:
    first = next(blocks_of(ROOT / "README.md"))

    assert [line.split()[:2] for line in first.text.splitlines()] == [["./dev", "demo"], ["./dev", "test"]]
    assert all(re.search(r"# \w", line) for line in first.text.splitlines())


def test_the_readme_can_be_read_in_three_minutes() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_statements_for_a_role_that_owns_nothing_are_enough(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    statements = next(block.text for block in blocks_of(EXPLANATION / "storage.md") if block.info == "sql")
    longmind.open(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as superuser:
        for statement in statements.strip().splitlines():
            superuser.execute(statement)
    try:
        service_url = as_role(postgres_url, "longmind_service")
        with longmind.open(service_url) as engine:
            ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
            ctx.conversations.create_conversation("support-chat")
            ctx.jobs.enqueue("anything")

            assert len(ctx.conversations.list_conversations()) == 1
        with psycopg.connect(service_url) as service:
            assert service.execute("SELECT count(*) FROM longmind.conversations").fetchone() == (0,)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as superuser:
            superuser.execute("DROP ROLE longmind_service")


def anchors_of(page: Path) -> set[str]:
    return {docs.slug(heading) for heading in re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)}


def run_demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.demo", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, timeout=60, env=dict(os.environ)
    )
