"""Judge the public libraries that have a bundled adapter, and write what was found.

    python tools/public_reports.py [NAME ...]

Each is judged in a process of its own, as ``rope-ref check NAME`` judges it, and what its
report says goes to docs/reports, from which docs/public.md is made. The libraries of the
environment `public` of tox.ini must be installed.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "docs" / "reports"
SCHEMA = "rope-ref-public-1"
# Fields of a result that are left out: how long it took, and what the clause says anyway.
LEFT_OUT = ("sentence", "seconds", "notes")


def main(arguments: list[str] | None = None) -> int:
    """Write a report for each name; return 0 if all could be judged, whatever the verdict."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="all if left out")
    parser.add_argument("--print", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT), str(ROOT / "backends"), str(ROOT / "conformance")]
    names = asked.names or public_names()
    if asked.print:
        own = sys.stdout
        sys.stdout = sys.stderr  # for what libraries print
        text = as_text(judged(names[0]))
        own.write(text)
        return 0
    REPORTS.mkdir(exist_ok=True)
    failed = [name for name in names if not written(name)]
    if failed:
        print(f"could not be judged: {', '.join(failed)}")
    return 1 if failed else 0


def public_names() -> list[str]:
    """Return the bundled names without our own backends."""
    from rope_conformance.adapters import BUNDLED

    return [name for name in BUNDLED if not name.startswith("rope-backends/")]


def path_of(name: str) -> Path:
    """Return the path of the report on a bundled name."""
    return REPORTS / f"{name.replace('/', '-')}.json"


def written(name: str) -> bool:
    """Judge a name in a process of its own, and write its report; whether that could be done."""
    with tempfile.TemporaryDirectory() as home:
        run = subprocess.run(
            [sys.executable, __file__, "--print", name],
            env={"KERAS_HOME": home, "HF_HUB_OFFLINE": "1"} | os.environ,
            stdout=subprocess.PIPE,
            text=True,
        )
    if run.returncode:
        return False
    path_of(name).write_text(run.stdout, encoding="utf-8")
    verdict = "conformant" if json.loads(run.stdout)["report"]["passed"] else "not conformant"
    print(f"{name}: {verdict}", flush=True)
    return True


def judged(name: str) -> dict[str, Any]:
    """Judge a library in this process, and return what its report says as plain data."""
    from rope_conformance import check
    from rope_conformance.adapters import BUNDLED, bundled
    from rope_conformance.running.settings import RunOptions, command_line

    options = RunOptions(name=name, command=command_line(name, {}))
    report = check(bundled(name), options=options).to_dict()
    if report["versions"]["rope-ref"] == "not installed":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        report["versions"]["rope-ref"] = project["project"]["version"]
    del report["seconds"]
    # Results that were not claimed are left out; the counts have their number.
    report["results"] = [
        {key: value for key, value in result.items() if key not in LEFT_OUT and value != ""}
        for result in report["results"]
        if result["verdict"] != "not claimed"
    ]
    entry = BUNDLED[name]
    return {
        "schema": SCHEMA,
        "name": name,
        "package": entry.package,
        "version": public_version(entry.package),
        "beside": {package: public_version(package) for package in entry.needs},
        "date": datetime.date.today().isoformat(),
        "sentence": entry.sentence,
        "probes": PROBES[name]() if name in PROBES else {},
        "report": report,
    }


def public_version(package: str) -> str:
    """Return the version of a package without its build, as in 2.13.0+cpu."""
    return importlib.metadata.version(package).partition("+")[0]


def as_text(data: dict[str, Any]) -> str:
    """Return JSON with one line for each result and fact, so that reports can be compared."""

    def one_line(match: re.Match[str]) -> str:
        return json.dumps(lines[int(match[1])], ensure_ascii=False, allow_nan=False)

    lines: list[Any] = []
    report = dict(data["report"])
    for part in ("results", "facts"):
        report[part] = [f"@{len(lines) + n}@" for n in range(len(report[part]))]
        lines += data["report"][part]
    for part in ("spec", "claim", "counts", "versions", "horizon"):
        report[part] = f"@{len(lines)}@"
        lines.append(data["report"][part])
    text = json.dumps(data | {"report": report}, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r'"@(\d+)@"', one_line, text) + "\n"


# Findings that a report does not have: beyond the claim, or about one input


def wrong_layout() -> dict[str, Any]:
    """Return what the suite says of Llama's RoPE if it is claimed to be interleaved."""
    from rope_conformance import check
    from rope_conformance.adapters import bundled
    from rope_ref import RopeSpec

    made = bundled("transformers/llama")(RopeSpec(128, layout="half"))
    claimed = RopeSpec(128, layout="interleaved")
    report = check(made, spec=claimed, dtype="float32", only=["pairing.layout", "frequency.phase"])
    messages = {f.clause: f.failure.message for f in report.findings if f.failure}
    causes = {f.clause: f.failure.cause for f in report.findings if f.failure}
    return {
        "claimed_interleaved": {
            "passed": report.passed,
            "message": messages.get("pairing.layout"),
            "cause": causes.get("frequency.phase"),
        }
    }


def far_from_the_truth() -> dict[str, Any]:
    """Return the largest error of a pair of length 1, in bfloat16 at one position."""
    import numpy as np
    import torch

    from rope_conformance.adapters import bundled
    from rope_ref import RopeSpec, apply_rope

    position = 4095
    spec = RopeSpec(128, layout="interleaved")
    x = torch.zeros((1, 1, 1, 128), dtype=torch.bfloat16)
    x[..., ::2] = 1
    got = bundled("rotary-embedding-torch")(spec).apply_rope(x, position).double().numpy()
    want = apply_rope(x.double().numpy(), np.array([position]), spec, axes="bhtd")
    off = np.hypot(*np.moveaxis((got - want).reshape(-1, 2), -1, 0))
    return {
        "bfloat16_error": {
            "position": position,
            "pair": int(np.argmax(off)),
            "error": float(f"{np.max(off):.3g}"),
        }
    }


def short_table() -> dict[str, Any]:
    """Return what the first position past the table raises, once the table was made."""
    import torch
    from fms.modules.positions import RotaryEmbedding

    length = 16
    rope = RotaryEmbedding(8, max_seq_len=length)
    x = torch.ones(1, 1, 1, 8)
    rope.adjusted_qk(x, x, torch.tensor([[length - 1]]))
    try:
        rope.adjusted_qk(x, x, torch.tensor([[length]]))
    except IndexError as error:
        raised: str | None = f"{type(error).__name__}: {error}"
    else:
        raised = None
    return {"past_the_table": {"length": length, "position": length, "raised": raised}}


PROBES = {
    "transformers/llama": wrong_layout,
    "rotary-embedding-torch": far_from_the_truth,
    "ibm-fms": short_table,
}


if __name__ == "__main__":
    sys.exit(main())
