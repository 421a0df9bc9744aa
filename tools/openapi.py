"""Write docs/openapi.json, the description of the server for machines, from the code.

python -m tools.openapi          write it
python -m tools.openapi --check  fail when it is not current
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from longmind.server.openapi.document import describe_api
from longmind.server.routes import make_routes

PATH = Path(__file__).parent.parent / "docs" / "openapi.json"


def written() -> str:
    return json.dumps(describe_api(make_routes()), ensure_ascii=False, indent=1) + "\n"


def main(arguments: list[str]) -> int:
    description = written()
    current = PATH.exists() and PATH.read_text("utf-8") == description
    if "--check" in arguments:
        if not current:
            print("docs/openapi.json is not current: run python -m tools.openapi", file=sys.stderr)
        return 0 if current else 1
    if not current:
        PATH.write_text(description, "utf-8")
        print("docs/openapi.json written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
