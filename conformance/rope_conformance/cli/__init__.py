"""The command ``rope-ref``."""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["main"]

# Installed with the extra `check`; the reference and the backends do not need them.
_NEEDED = ("click", "rich", "hypothesis", "ml_dtypes")


def main() -> None:
    """Run the command; without the packages it needs, name them and exit with status 2."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"rope-ref: {', '.join(missing)} not installed; judging an implementation takes the "
            "extra `check`: pip install 'rope-ref[check]'",
            file=sys.stderr,
        )
        sys.exit(2)
    from rope_conformance.cli.commands import rope_ref

    rope_ref(prog_name="rope-ref")
