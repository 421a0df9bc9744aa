"""Write the bill of materials: `./dev sbom [FILE]`. The same lock gives the same bill, so it is not stored."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from prove.supply_chain.outside_audits import audit_tools, bill_of_materials


def main(arguments: list[str]) -> int:
    target = Path(arguments[0] if arguments else "sbom.json").absolute()
    with tempfile.TemporaryDirectory() as folder:
        wrong, listed = bill_of_materials(audit_tools(Path(folder) / "audit"), target)
    print("\n".join(wrong) or f"{target} names {listed} packages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
