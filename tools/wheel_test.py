"""A short test of an installed wheel, with nothing of the repository but this file.

python tools/wheel_test.py              remember two facts, find one, erase the user
python tools/wheel_test.py --compiled   also fail unless recall runs its compiled loops
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import longmind
from longmind.recall import kernels


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder, longmind.open(f"sqlite:///{Path(folder, 'memory.db')}") as engine:
        context = engine.context(tenant_id="acme", app_id="wheel", user_id="ada", capabilities={"admin"})
        space = context.memory.create_memory_space("notes")
        for text in ("Ada lives in Graz.", "Ada likes green tea."):
            context.memory.add_atom(space.id, {"text": text, "category": {"name": "home", "kind": "FACT"}})
        found = [hit.atom.text for hit in context.memory.recall_by_topic(space.id, "green tea").hits]
        assert found[:1] == ["Ada likes green tea."], found
        context.admin.delete_user_data("ada", confirm=True)
        assert not context.memory.list_memory_spaces(), "a space remains after the erasure"
    loops = "compiled" if kernels.compiled else "numpy"
    print(f"longmind {longmind.__version__} works, with {loops} loops")
    return 1 if "--compiled" in arguments and loops != "compiled" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
