"""Five seeds of every generated check on the libraries that are right: no false alarm."""

from dataclasses import replace

import pytest

from rope_conformance import check
from rope_conformance.adapters import BUNDLED, bundled
from rope_conformance.clauses import all_checks
from rope_conformance.inputs.spec_variants import at_width
from rope_ref import PowerLaw
from rope_ref.positions import interleaved_axes

GENERATED = [c.name for c in all_checks() if c.generated is not None]


# Scaled ones and those of several axes share their code with each other: one of each kind.
SCALED = {"transformers/llama-scaled": None, "transformers/qwen3-vl": interleaved_axes((4, 4, 4))}
PLAIN = [
    name
    for name in BUNDLED
    if not name.startswith("rope-backends/")
    and type(BUNDLED[name].spec.frequencies) is PowerLaw
    and BUNDLED[name].spec.pair_axes is None
]


@pytest.mark.parametrize("name", [*PLAIN, *SCALED])
def test_five_seeds(name):
    target = bundled(name)
    own = target.spec
    # Small heads are cheap, and their pairs differ more from one to the next.
    spec = at_width(own, 24, 24 if own.rotary_dim == own.head_dim else 8)
    spec = replace(spec, pair_axes=SCALED.get(name))
    # In short types one library is wrong: it keeps its place here for float32.
    dtypes = ("float32",) if name == "rotary-embedding-torch" else target.claim.dtypes
    claim = target.claim
    if claim.position_forms == ("none",):
        # The same long sequences for each seed would take a minute and show nothing new.
        claim = replace(claim, position_range=(0, 255))
    made = target(spec)  # once, so that what compiles does so once
    for seed in range(5):
        report = check(
            made,
            spec=spec,
            claim=claim,
            dtype=dtypes[seed % len(dtypes)],
            only=GENERATED,
            effort="quick",
            seed=seed,
        )
        assert report.passed, (seed, report.findings, report.doubts)
