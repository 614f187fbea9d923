"""Judge the backends on a CUDA machine, in one command, and write what was found.

    python tools/gpu_conformance.py [--json FILE] [--effort quick|default] [--seconds 480]

It runs from a checkout, installed or not. The machine needs NumPy, array-api-compat,
hypothesis and ml-dtypes (those that are missing are named), and the frameworks to judge,
with CUDA: torch, jax[cuda13], cupy-cuda13x. A framework that is missing or finds no device
is reported as not run, with the reason; with ROPE_REQUIRE=torch-cuda,jax-cuda,cupy that is
a failure.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NEEDED = {"numpy": "numpy", "array_api_compat": "array-api-compat", "hypothesis": "hypothesis"}
NEEDED["ml_dtypes"] = "ml-dtypes"
# place: framework, bundled name, device
PLACES = {
    "torch-cuda": ("torch", "rope-backends/torch", "cuda:0"),
    "jax-cuda": ("jax", "rope-backends/jax", "cuda"),
    "cupy": ("cupy", "rope-backends/cupy", "cuda"),
}
PACKAGES = ("numpy", "torch", "jax", "jaxlib", "cupy-cuda13x", "cupy-cuda12x", "array-api-compat")


def main(arguments: list[str] | None = None) -> int:
    """Judge each place and write the report; 1 if one failed or a required one did not pass."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--json", type=Path, help="where to write; default: gpu-conformance-DATE.json"
    )
    parser.add_argument("--effort", default="quick", choices=["quick", "default", "thorough"])
    parser.add_argument("--seconds", type=float, default=480.0, help="start nothing after this")
    parser.add_argument(
        "--device", help="judge on this device instead, for trying the command without a GPU"
    )
    asked = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT), str(ROOT / "backends"), str(ROOT / "conformance")]
    if missing := [name for module, name in NEEDED.items() if not importlib.util.find_spec(module)]:
        print(
            f"missing: {' '.join(missing)} (pip install, or wheels for a machine without network)"
        )
        return 2
    started = time.perf_counter()
    required = set(filter(None, os.environ.get("ROPE_REQUIRE", "").split(",")))
    found: dict[str, Any] = {}
    for place, (framework, name, device) in PLACES.items():
        left = asked.seconds - (time.perf_counter() - started)
        found[place] = (
            judged(framework, name, asked.device or device, asked.effort)
            if left > 0
            else {"verdict": "not run", "reason": f"not started within {asked.seconds:g} s"}
        )
        print(f"{place:11} {found[place]['verdict']}: {found[place]['reason']}", flush=True)
    today = datetime.date.today().isoformat()
    report = {
        "date": today,
        "device": asked.device or "cuda",
        "machine": {"python": platform.python_version(), "system": platform.platform()},
        "versions": versions(),
        "seconds": round(time.perf_counter() - started, 1),
        "places": found,
    }
    file = asked.json or Path(f"gpu-conformance-{today}.json")
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"written: {file}")
    bad = [p for p, r in found.items() if r["verdict"] == "failed"]
    bad += [p for p in sorted(required & set(found)) if found[p]["verdict"] != "passed"]
    return 1 if bad else 0


def judged(framework: str, name: str, device: str, effort: str) -> dict[str, Any]:
    """The verdict on one backend on one device."""
    from dataclasses import replace

    import rope_backends
    import rope_conformance
    from rope_conformance.adapters import BUNDLED
    from rope_conformance.target.frameworks import NamespaceError, namespace

    started = time.perf_counter()
    try:
        rope_backends.load(framework)
        namespace(framework)
        target = BUNDLED[name].load()
        claim = replace(target.claim, devices=(device,))
        report = rope_conformance.check(
            target, claim=claim, effort=effort, options=rope_conformance.RunOptions(name=name)
        )
    except (rope_backends.BackendUnavailable, NamespaceError) as error:
        return {"verdict": "not run", "reason": str(error)}
    missing = [r.reason for r in report.results if r.verdict == "not run"]
    verdict = "passed" if report.passed else "failed" if report.findings else "not run"
    reason = f"{report.counts()['passed']} clauses, {report.inputs} inputs, {report.calls} calls"
    return {
        "verdict": verdict,
        "reason": reason if verdict != "not run" else "; ".join(dict.fromkeys(missing)),
        "seconds": round(time.perf_counter() - started, 1),
        "report": report.to_dict(),
    }


def versions() -> dict[str, str]:
    """Versions of the packages that took part."""
    here = {}
    for package in PACKAGES:
        try:
            here[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return here


if __name__ == "__main__":
    sys.exit(main())
