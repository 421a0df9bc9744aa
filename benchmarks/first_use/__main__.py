"""First use beside other products: from nothing installed to the first right answer.

It makes an environment and a home for each product, so it needs the package index. `./dev bench first-use --help` lists
all options.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.first_use.product import PRODUCTS, Product, count_lines, list_concepts
from benchmarks.measure import RESULTS, environment, load, percentile, table, write_json

ROOT = Path(__file__).parents[2]
OUTPUT = RESULTS / "first-use.json"
QUESTIONS = {"meaning": "What food could make me ill?", "words": "peanuts"}
ANSWER = "peanuts"
IMPORTS = 7
SECONDS = 900
NOTES = (
    "Installing is pip without its cache, from the package index of the machine; megabytes are those of the packages, "
    "their compiled modules included and pip's own left out, and of what the first run stores in the home.",
    "An answer is right if the first line that the program prints is about peanuts; the question by meaning shares no "
    "word with it. The first run has an empty home, and includes what a product fetches then; the second one has no "
    "network.",
    "No program has a key, and telemetry is switched off where a product has it.",
    "Import is the median of the process, less that of one that does nothing; of the processor it is the least.",
)
_QUIET = {
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "BASIC_MEMORY_NO_PROMOS": "1",
    "LANGSMITH_TRACING": "false",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter; basic-memory needs 3.12 or newer")
    parser.add_argument("--only", help="the name of one product; the results of the others are kept")
    parser.add_argument("--output", default=str(OUTPUT))
    options = parser.parse_args()
    chosen = [product for product in PRODUCTS if options.only in (None, product.name)]
    if not chosen:
        parser.error(f"--only is one of: {', '.join(product.name for product in PRODUCTS)}")
    before = load()
    with tempfile.TemporaryDirectory() as folder:
        found = [measure(product, Path(folder, str(place)), options.python) for place, product in enumerate(chosen)]
    results: dict[str, Any] = {
        "environment": {**environment("longmind"), "python": _run([options.python, "-V"])},
        "loads": [before, load()],
        "questions": QUESTIONS,
        "products": found if options.only is None else _keep_others(Path(options.output), found),
        "notes": list(NOTES),
    }
    write_json(Path(options.output), results)
    show(results)


def _keep_others(path: Path, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of this run with those of the other products, as a file has them."""
    kept = json.loads(path.read_text("utf-8"))["products"] if path.exists() else []
    by_name = {each["product"]: each for each in [*kept, *found]}
    return [by_name[product.name] for product in PRODUCTS if product.name in by_name]


def measure(product: Product, folder: Path, python: str) -> dict[str, Any]:
    """Install a product in a folder and try it; a step that fails ends with its last words."""
    print(f"{product.name} …", file=sys.stderr)
    folder.mkdir()
    place = folder / "venv"
    subprocess.run([python, "-m", "venv", str(place)], check=True)
    packages = [str(build_wheel(folder))] if not product.packages else list(product.packages)
    own, began = measure_packages(place), time.perf_counter()
    installed = subprocess.run(
        [str(place / "bin" / "pip"), "install", "--quiet", "--no-cache-dir", *packages],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    seconds = round(time.perf_counter() - began, 1)
    found: dict[str, Any] = {
        "product": product.name,
        "load": load(),
        "installed": " ".join(product.packages) or "longmind",
        "program": product.program,
        "lines": count_lines(product.path),
        "concepts": list_concepts(product.path),
    }
    if installed.returncode:
        return {**found, "trouble": f"it could not be installed: {_last_words(installed.stderr)}"}
    megabytes, count = (round(now - then, 1) for now, then in zip(measure_packages(place), own, strict=True))
    found |= {"install_seconds": seconds, "megabytes": megabytes, "packages": int(count)}
    found |= time_import(place / "bin" / "python", product.module)
    found["answers"] = {kind: ask(product, place, folder / kind, question) for kind, question in QUESTIONS.items()}
    found["megabytes_stored"] = round(measure_folder(folder / "meaning") / 1e6, 1)
    return found


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout, which stands for the one of the index."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (folder / "dist").iterdir()
    return wheel


def measure_packages(place: Path) -> tuple[float, int]:
    """Return the megabytes and the number of packages in an environment."""
    (folder,) = (place / "lib").glob("python*/site-packages")
    return measure_folder(folder) / 1e6, len(list(folder.glob("*.dist-info")))


def measure_folder(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def time_import(python: Path, module: str) -> dict[str, float]:
    """Return the seconds that importing a module adds to a process, and those of the processor."""
    took: dict[str, list[tuple[float, float]]] = {"pass": [], f"import {module}": []}
    for _ in range(IMPORTS):
        for program, times in took.items():
            used, began = _read_processor_seconds(), time.perf_counter()
            subprocess.run([str(python), "-c", program], check=True, capture_output=True, env=_surround(None))
            times.append((time.perf_counter() - began, _read_processor_seconds() - used))
    # The least of the processor's: other work on the machine can only add to it.
    (nothing, nothing_used), (own, used) = (
        (percentile([seconds for seconds, _ in times], 50), min(used for _, used in times)) for times in took.values()
    )
    return {"import_seconds": round(own - nothing, 3), "import_processor_seconds": round(used - nothing_used, 3)}


def ask(product: Product, place: Path, home: Path, question: str) -> dict[str, Any]:
    """Run the program of a product in an empty home, and again without a network; return what came of it."""
    home.mkdir()
    first = _answer(product, place, home, question, [])
    without_network = ["unshare", "--net"] if os.geteuid() == 0 and shutil.which("unshare") else []
    return {"first": first, "again": _answer(product, place, home, question, without_network)}


def _answer(product: Product, place: Path, home: Path, question: str, inside: list[str]) -> dict[str, Any]:
    shell = ["sh", "-e"] if product.path.suffix == ".sh" else [str(place / "bin" / "python")]
    used, began = _read_processor_seconds(), time.perf_counter()
    try:
        done = subprocess.run(
            [*inside, *shell, str(product.path), question],
            cwd=home,
            env=_surround(home) | {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return {"right": False, "why": f"no answer in {SECONDS} seconds"}
    spent = {
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(_read_processor_seconds() - used, 2),
    }
    if done.returncode:
        return {"right": False, **spent, "why": _last_words(done.stderr or done.stdout)}
    said = done.stdout.strip().splitlines()
    line = said[0] if product.path.suffix == ".py" and said else " ".join(said)
    right = ANSWER in line and '"total": 0' not in line
    return {"right": right, **spent, "why": "" if right else f"its first hit: {line[:80] or 'none'}"}


def _read_processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _surround(home: Path | None) -> dict[str, str]:
    """Return the environment of a program: no key, no setting of this machine's user, nothing sent to a vendor."""
    kept = {"PATH", "LANG", "TMPDIR", "PIP_CERT", "PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_FIND_LINKS"}
    surroundings = {name: value for name, value in os.environ.items() if name in kept} | _QUIET
    config = Path.home() / ".config" / "pip" / "pip.conf"
    if config.is_file():
        surroundings.setdefault("PIP_CONFIG_FILE", str(config))
    return surroundings | ({} if home is None else {"HOME": str(home)})


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[-1][:200] if lines else "no words"


def show(results: dict[str, Any]) -> None:
    rows = []
    for each in results["products"]:
        if "trouble" in each:
            rows.append((each["product"], each["trouble"], *[""] * 9))
            continue
        answers = each["answers"]
        rows.append(
            (
                each["product"],
                each["install_seconds"],
                each["megabytes"],
                each["megabytes_stored"],
                each["packages"],
                each["import_seconds"],
                each["import_processor_seconds"],
                each["lines"],
                len(each["concepts"]),
                *(_show_answers(answers[kind]) for kind in QUESTIONS),
            )
        )
    heads = (
        "<product",
        "install s",
        "MB",
        "stored MB",
        "packages",
        "import s",
        "processor",
        "lines",
        "concepts",
        "<meaning",
        "<words",
    )
    print(table(heads, rows))
    print("\n".join(NOTES))


def _show_answers(answers: dict[str, Any]) -> str:
    return ", ".join(
        f"{answer['seconds']} s" if answer["right"] else f"no: {answer['why'][:40]}" for answer in answers.values()
    )


if __name__ == "__main__":
    main()
