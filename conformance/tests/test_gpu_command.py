"""The command for CUDA machines, tried where there is none."""

import json
import os
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "gpu_conformance.py"


def run(tmp_path, **environment):
    """Run it in an empty folder, with every CUDA device hidden."""
    return subprocess.run(
        [sys.executable, str(TOOL), "--json", "report.json"],
        cwd=tmp_path,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "ROPE_REQUIRE": ""} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_device_it_says_what_did_not_run_and_why(tmp_path):
    """Each framework that cannot run is named with its reason; nothing pretends."""
    done = run(tmp_path)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))

    assert done.returncode == 0, done.stderr
    assert set(report["places"]) == {"torch-cuda", "jax-cuda", "cupy"}
    assert all(r["verdict"] == "not run" and r["reason"] for r in report["places"].values())
    assert report["date"]
    assert report["versions"]["numpy"]


def test_what_is_required_must_run(tmp_path):
    """ROPE_REQUIRE turns a device that is missing into a failure."""
    assert run(tmp_path, ROPE_REQUIRE="cupy").returncode == 1
