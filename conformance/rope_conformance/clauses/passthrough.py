"""What RoPE leaves alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.clauses._common import numeric_cases, numeric_fixed
from rope_conformance.inputs import Case
from rope_conformance.registry import EITHER, Clause
from rope_conformance.trial import CheckFailure, Trial
from rope_ref import pair_channels

UNTOUCHED = Clause(
    id="passthrough.channels",
    sentence="Channels outside the rotating ones come out bit for bit as they went in.",
    formula=r"y_c = x_c \quad\text{for } c \notin [\mathrm{start},\, \mathrm{start} + R)",
    reference="rope_ref.rotation:apply_rope",
    fault="partial",
    surface=EITHER,
    opened_by=lambda trial: (
        None if trial.spec.rotary_dim < trial.spec.head_dim else "every channel rotates"
    ),
)

VALUES = Clause(
    id="passthrough.values",
    sentence=(
        "Of the three arrays of an attention layer q and k are rotated, and v comes out bit for "
        "bit as it went in."
    ),
    formula=r"(q, k, v) \mapsto (f(q), f(k), v)",
    reference="rope_ref.attention:attention_logits",
    fault="aliasing",
    surface="attention",
)


@UNTOUCHED.check(
    fixed=lambda trial: [*numeric_fixed(trial), _with_odd_numbers(trial)],
    generated=numeric_cases,
    kills=["rotates_pass_through"],
    minimum=5,
)
def channels(trial: Trial, case: Case) -> None:
    """Compare the other channels' bits; one input holds NaN, infinities and -0."""
    x = trial.x(case)
    rest = np.setdiff1d(np.arange(trial.spec.head_dim), pair_channels(trial.spec))
    if case.parameter == _ODD_NUMBERS:
        odd = np.array([np.nan, np.inf, -np.inf, -0.0, 1.0])
        x[..., rest] = np.resize(odd, rest.size).astype(x.dtype)
    y = trial.apply(x, trial.positions(case))
    bad = np.argwhere(~same_numbers(x[..., rest], y[..., rest]))
    if bad.size:
        row, token, head, n = (int(i) for i in bad[0])
        c = int(rest[n])
        raise CheckFailure(
            f"channel {c} does not rotate but changed: got {y[row, token, head, c]}, "
            f"want {x[row, token, head, c]} (row {row}, token {token}, head {head})"
        )


@VALUES.check(
    fixed=lambda trial: [c for c in numeric_fixed(trial)[:6] if c.values == "normal"],
    kills=["rotates_v"],
    minimum=2,
)
def values(trial: Trial, case: Case) -> None:
    """Hand q, k and v over: two come back rotated, one as it was."""
    positions = trial.positions(case)
    # Grouped heads where the number of heads allows.
    shared = case.heads // 4 if case.heads % 4 == 0 else case.heads
    q, k, v = (
        trial.x(replace(case, heads=heads, seed=case.seed + n))
        for n, heads in enumerate((case.heads, shared, shared))
    )
    native = [trial.native(x) for x in (q, k, v)]
    arguments = trial.position_arguments(positions, (case.batch, case.tokens))
    result = trial.call("attention", *native, *arguments)
    if not isinstance(result, tuple | list) or len(result) != 3:
        raise CheckFailure("qkv(q, k, v, positions) must return the three arrays (q, k, v)")
    after = [
        trial.from_claimed_axes(trial.checked(y, x), own.shape)
        for y, x, own in zip(result, native, (q, k, v), strict=True)
    ]
    if not same_numbers(v, after[2]).all():
        raise CheckFailure("v was changed: only q and k are rotated")
    for name, x, y in (("q", q, after[0]), ("k", k, after[1])):
        trial.demand(trial.judge(y, x, positions), f"{name} is not rotated as it should be")


_ODD_NUMBERS = 1


def _with_odd_numbers(trial: Trial) -> Case:
    return replace(numeric_fixed(trial)[0], parameter=_ODD_NUMBERS)


def same_numbers(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where two arrays hold the same numbers; NaN counts as NaN, 0 as -0."""
    result: npt.NDArray[np.bool_] = (a == b) | ((a != a) & (b != b))
    return result
