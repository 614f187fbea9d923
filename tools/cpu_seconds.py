"""Runs a command and says at the end how many CPU seconds it and its children took.

Wall time depends on what else a machine does; CPU seconds can be compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time


def main() -> int:
    """Run the command given as arguments, and return its exit status."""
    started = time.perf_counter()
    status = subprocess.run(sys.argv[1:], check=False).returncode
    took = os.times()
    cpu, wall = took.children_user + took.children_system, time.perf_counter() - started
    print(f"{cpu:.0f} CPU seconds, {wall:.0f} by the clock: {' '.join(sys.argv[1:])}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
