"""Shows commands on a page as a terminal would, for cells that hide how it is done."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

# The script `rope-ref` by another way: the environment that builds pages may lack it.
_SCRIPT = "import sys; sys.argv[0] = 'rope-ref'; from rope_conformance.cli import main; main()"


def show(command: str, *, status: int = 0) -> None:
    """Run ``rope-ref ...`` in the repository's folder, 80 columns wide, and print what it prints.

    An exit status other than the one expected fails the page.
    """
    script, *arguments = command.split()
    assert script == "rope-ref"
    run = subprocess.run(
        [sys.executable, "-P", "-c", _SCRIPT, *arguments],
        cwd=Path(__file__).parents[2],
        # The kernel asks for colours; a progress bar would be in the way.
        env=os.environ | {"COLUMNS": "80", "TTY_INTERACTIVE": "0"},
        capture_output=True,
        text=True,
    )
    # Colours stay; switching the cursor off and on means nothing on a page.
    printed = re.sub(r"\x1b\[\?\d+[hl]\n?", "", run.stdout)
    print(f"$ {command}\n{printed.rstrip()}")
    if run.returncode != status:
        raise AssertionError(f"{command!r} exited with {run.returncode}\n{run.stderr}")
