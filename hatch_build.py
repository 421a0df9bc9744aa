"""Compiles the inner loops of recall while a wheel is built or the package is installed from its source.

It is the C compiler that Python itself was built with, and nothing else, that is called. Where there is none, or it
fails, the package is of Python alone and recall leaves these loops to numpy. `HATCH_BUILD_NO_HOOKS=true` builds such a
package everywhere.
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
BUILT = "inner_loops.abi3.so"
"""The stable interface of Python: what is compiled for one version works with all that come after it."""
# Nothing is told of the machine and its folders, so that the same source gives the same bytes everywhere.
OPTIONS = ("-O3", "-g0", "-std=c11", "-fvisibility=hidden")
SECONDS = 120


class InnerLoops(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="longmind-build-"))
        built = self._compiled(self._folder / BUILT)
        if version == "editable":
            # It stands where Python looks for it: beside its source. Whoever uses the one before goes on with that.
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

    def _compiled(self, to: Path) -> Path | None:
        told: object = "no C compiler is known here"
        try:
            command = compiling(SOURCE, to)
            if command is not None:
                told = "the compiler has made nothing"
                subprocess.run(command, cwd=self.root, check=True, capture_output=True, timeout=SECONDS)
        except subprocess.CalledProcessError as error:
            told = error.stderr.decode(errors="replace") or error
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            told = error
        if to.is_file():
            return to
        self.app.display_warning(f"Recall will leave its inner loops to numpy, as they were not compiled: {told}")
        return None


def compiling(source: str, to: Path) -> list[str] | None:
    """The command that compiles the source; None where this Python cannot load what it would make."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    without_gil = sysconfig.get_config_var("Py_GIL_DISABLED")
    if not compiler or without_gil or os.name == "nt":
        return None
    # Not as Python's own modules are linked, which may name folders of the machine that Python was built on.
    linking = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared", "-fPIC"]
    headers = f"-I{sysconfig.get_path('include')}"
    return [*compiler, *linking, *OPTIONS, headers, source, "-o", str(to), "-lm"]


def platform() -> str:
    """This machine as installers name it, with no promise about other distributions of Linux."""
    return next(tag.platform for tag in sys_tags() if not tag.platform.startswith(("manylinux", "musllinux")))
