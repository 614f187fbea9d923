"""What RoPE leaves alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rope_conformance.clauses._arrays import passing_channels, same_numbers
from rope_conformance.clauses._layer import call_layer, layer_data, odd_numbers
from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import numeric_cases, numeric_fixed
from rope_conformance.target.frameworks import Array


@clause(
    id="passthrough.channels",
    sentence="Channels outside the rotating ones come out bit for bit as they went in.",
    formula=r"y_c = x_c \quad\text{for } c \notin [\mathrm{start},\, \mathrm{start} + R)",
    reference="rope_ref.definition:rotate",
    fault="partial",
    surface=EITHER,
    opened_by=lambda context: (
        None if context.spec.rotary_dim < context.spec.head_dim else "every channel rotates"
    ),
    any_map=True,
    fixed=lambda context: [*numeric_fixed(context), _with_odd_numbers(context)],
    generated=numeric_cases,
    minimum=5,
)
def channels(context: CheckContext, case: Case) -> None:
    """Compare the other channels' bits; one input holds NaN, infinities and -0."""
    x = context.x(case)
    rest = passing_channels(context.spec)
    if case.parameter == _ODD_NUMBERS:
        odd = np.array([np.nan, np.inf, -np.inf, -0.0, 1.0])
        x[..., rest] = np.resize(odd, rest.size).astype(x.dtype)
    demand_untouched(context, x, context.arrays.apply(x, context.positions(case)))


def demand_untouched(context: CheckContext, x: Array, y: Array, where: str = "") -> None:
    """Fail if a channel that does not rotate lost a bit; `where` begins the message."""
    rest = passing_channels(context.spec)
    bad = np.argwhere(~same_numbers(x[..., rest], y[..., rest]))
    if bad.size:
        row, token, head, n = (int(i) for i in bad[0])
        c = int(rest[n])
        raise CheckFailure(
            f"{where}{': ' if where else ''}channel {c} does not rotate but changed: got "
            f"{y[row, token, head, c]}, want {x[row, token, head, c]} (row {row}, token {token}, "
            f"head {head})",
            # All zeros: these channels were never written.
            fault=_amplified(context, x[..., rest], y[..., rest])
            or ("partial" if y[..., rest].any() or where else "aliasing"),
        )


def _amplified(context: CheckContext, x: Array, y: Array) -> Fault | None:
    """The class of the fault where channels that do not rotate got the amplitude."""
    amplitude = float(context.spec.frequencies.amplitude)
    want = np.asarray(x, np.float64) * amplitude
    finite = np.isfinite(want)
    near = np.abs(np.asarray(y, np.float64) - want)[finite] <= np.abs(want)[finite] / 64
    return "scaling" if abs(amplitude - 1) > 1 / 32 and near.all() and want.any() else None


@clause(
    id="passthrough.values",
    sentence=(
        "Of the three arrays of an attention layer q and k are rotated, and v comes out bit for "
        "bit as it went in."
    ),
    formula=r"(q, k, v) \mapsto (f(q), f(k), v)",
    reference="rope_ref.attention:attention_logits",
    fault="aliasing",
    surface="attention",
    fixed=lambda context: [c for c in numeric_fixed(context)[:6] if c.values == "normal"],
    minimum=2,
)
def values(context: CheckContext, case: Case) -> None:
    """Hand q, k and v over, then once more with NaN, infinities and -0 in v."""
    # Grouped heads where the number of heads allows.
    q, k, v = layer_data(context, replace(case, parameter=case.heads // 4))
    positions = context.positions(case)
    for given in (v, odd_numbers(v)):
        *rotated, after = call_layer(context, (q, k, given), positions)
        if not same_numbers(given, after).all():
            raise CheckFailure(
                "v was changed: only q and k are rotated", fault=_rounding(given, after)
            )
        for name, x, y in zip("qk", (q, k), rotated, strict=True):
            try:
                context.demand(
                    context.judge(y, x, positions), f"{name} is not rotated as it should be"
                )
            except CheckFailure as failure:
                failure.fault = (
                    failure.fault or "kernel-shape"
                )  # the class of the clause is that of v
                raise


def _rounding(before: Array, after: Array) -> Fault | None:
    """The class of a change by no more than rounding; None for any other."""
    was, now = np.asarray(before, np.float64), np.asarray(after, np.float64)
    finite = np.isfinite(was)
    rounded = np.abs(now - was)[finite] <= np.abs(was)[finite] / 64
    return "dtype" if rounded.all() else None


_ODD_NUMBERS = 1


def _with_odd_numbers(context: CheckContext) -> Case:
    return replace(numeric_fixed(context)[0], parameter=_ODD_NUMBERS)
