"""A build hook that compiles the inner loops of recall for a wheel or an installation from source.

It calls the compiler in `CC`, or else the one that Python was built with, and nothing else. Without a compiler, or if
it fails, the package is pure Python and recall runs these loops in numpy. `HATCH_BUILD_NO_HOOKS=true` always builds the
pure package. On Windows, where Python names no compiler, only `CC` (a clang or gcc) makes it compile.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

FOLDER = "longmind/recall/kernels"
SOURCE = f"src/{FOLDER}/inner_loops.c"
BUILT = "inner_loops.pyd" if os.name == "nt" else "inner_loops.abi3.so"
"""The stable interface of Python: a module compiled for one version works with every later one."""
# No option names the machine or its folders, so the same source gives the same bytes everywhere.
OPTIONS = ("-O3", "-g0", "-std=c11", "-fvisibility=hidden")
SECONDS = 120


class InnerLoops(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="longmind-build-"))
        built = self._compile(self._folder / BUILT)
        if version == "editable":
            # An editable install looks for the module next to its source. Processes that use the old one keep it.
            place = Path(self.root, "src", FOLDER, BUILT)
            place.unlink(missing_ok=True)
            if built is not None:
                shutil.move(built, place)
        elif built is not None:
            build_data["force_include"][str(built)] = f"{FOLDER}/{BUILT}"
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{platform()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _compile(self, target: Path) -> Path | None:
        reason: object = "no C compiler is known here"
        try:
            command = compile_command(SOURCE, target)
            if command is not None:
                reason = "the compiler wrote no file"
                subprocess.run(command, cwd=self.root, check=True, capture_output=True, timeout=SECONDS)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.decode(errors="replace") or error
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = error
        if target.is_file():
            return target
        self.app.display_warning(f"The inner loops of recall were not compiled and will run in numpy: {reason}")
        return None


def compile_command(source: str, target: Path) -> list[str] | None:
    """Return the command that compiles the source; None where this Python could not load the result."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    if not compiler or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    headers = f"-I{sysconfig.get_path('include')}"
    return [*compiler, *OPTIONS, *_link_options(), headers, source, "-o", str(target), *_libraries()]


def _link_options() -> list[str]:
    # The options for Python's own modules may name folders of the machine that Python was built on.
    if sys.platform == "darwin":
        return ["-bundle", "-undefined", "dynamic_lookup"]
    return ["-shared"] if os.name == "nt" else ["-shared", "-fPIC"]


def _libraries() -> list[str]:
    """Return the libraries to link: on Windows every symbol of Python has to be resolved at once."""
    return [f"-L{Path(sys.base_prefix, 'libs')}", "-lpython3"] if os.name == "nt" else ["-lm"]


def platform() -> str:
    """Return this machine's name as installers know it, with no promise about other distributions of Linux."""
    return next(tag.platform for tag in sys_tags() if not tag.platform.startswith(("manylinux", "musllinux")))
