"""Judge every wrong implementation by every check, and write which checks catch it.

    python tools/kill_matrix.py [NAME ...]

The result goes to docs/kill-matrix.json, from which docs/zoo.md is made. The tests compute it
again and compare. Wrong implementations on torch's arrays need torch.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "kill-matrix.json"


def main(arguments: list[str] | None = None) -> int:
    """Write the matrix; 1 if a wrong implementation survives or a check kills nothing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="renew these only")
    names = parser.parse_args(arguments).names
    sys.path[:0] = [str(ROOT), str(ROOT / "backends"), str(ROOT / "conformance")]
    from rope_conformance.clauses import all_checks
    from rope_conformance.zoo import WRONG
    from rope_conformance.zoo.matrix import kill_matrix

    rows = json.loads(FILE.read_text(encoding="utf-8"))["wrong"] if names else {}
    made = kill_matrix(names or WRONG)
    rows |= made["wrong"]
    made["wrong"] = {name: rows[name] for name in WRONG if name in rows}
    FILE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    survivors = [name for name, row in made["wrong"].items() if not row["caught_by"]]
    killers = {clause for row in made["wrong"].values() for clause in row["caught_by"]}
    idle = [check.name for check in all_checks() if check.name not in killers]
    misjudged = [n for n, row in made["wrong"].items() if row["found"] != row["fault"]]
    print(f"{len(made['wrong'])} wrong implementations; survivors: {survivors or 'none'}")
    print(f"checks that kill nothing: {idle or 'none'}")
    print(f"another class found for {len(misjudged)}: {misjudged or 'none'}")
    return 1 if survivors or idle else 0


if __name__ == "__main__":
    sys.exit(main())
