"""Calls the surface `logits`, and says how far an honest score may be from the true one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rope_conformance.accuracy.bound import bound
from rope_conformance.accuracy.number_types import tiny, unit_roundoff
from rope_conformance.accuracy.residual import DECISIVE, pair_norm, per_token
from rope_conformance.clauses._arrays import passing_channels
from rope_conformance.clauses._layer import placed
from rope_conformance.clauses._other_specs import new_object
from rope_conformance.faults import Fault
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.position_axes import place_in_words
from rope_conformance.inputs.queries_keys import QueriesKeys
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised
from rope_conformance.target.frameworks import Array
from rope_ref import attention_logits, pair_channels

SCALE_FACT = "scores are scaled by"


@dataclass(frozen=True)
class LogitsInput:
    """What one call is given: arrays ``bthd`` and positions (T,) or (B, T)."""

    q: Array
    k: Array
    q_positions: Array
    k_positions: Array


def given(context: CheckContext, case: QueriesKeys) -> LogitsInput:
    """The data of a case."""
    return LogitsInput(
        context.x(case.q),
        context.x(replace(case.k, seed=case.k.seed + 1000)),
        context.positions(case.q),
        context.positions(case.k),
    )


def call_logits(
    context: CheckContext, what: LogitsInput, natives: list[Any] | None = None
) -> tuple[Array, str]:
    """Call ``logits`` and return the scores (B, H, Tq, Tk) and their type.

    Raises
    ------
    CheckFailure
        If it does not return an array of that shape, of the type of q or a wider one.
    TargetRaised
        If it raised.
    """
    q, k = [context.arrays.native(x) for x in (what.q, what.k)] if natives is None else natives
    result = context.arrays.call(
        "logits",
        q,
        k,
        *context.arrays.position_arguments(what.q_positions, what.q.shape),
        *context.arrays.position_arguments(what.k_positions, what.k.shape),
    )
    own = context.namespace
    if not own.owns(result):
        raise CheckFailure(
            f"returned {type(result).__module__}.{type(result).__name__}, not an array of the type "
            "that q has",
            fault="dtype",
        )
    batch, tokens, heads = what.q.shape[:3]
    full = (batch, heads, tokens, what.k.shape[1])
    lacking = [n for n, letter in enumerate("bh") if letter not in context.claim.axes]
    short = tuple(length for n, length in enumerate(full) if n not in lacking)
    if tuple(result.shape) not in (full, short):
        raise CheckFailure(
            f"returned shape {tuple(result.shape)} for {heads} heads, {tokens} queries and "
            f"{what.k.shape[1]} keys in {batch} rows; (B, H, Tq, Tk) is {full}",
            fault="kernel-shape",
        )
    kind = own.dtype(result)
    if kind not in (context.dtype, "float32", "float64") or (
        unit_roundoff(kind) > unit_roundoff(context.dtype)
    ):
        raise CheckFailure(
            f"returned scores of dtype {kind} for q and k of dtype {context.dtype}", fault="dtype"
        )
    if own.device(result) != own.device(q):
        raise CheckFailure(f"returned scores on {own.device(result)} for q on {own.device(q)}")
    context.arrays.last_result = result
    host = own.host(result)
    context.arrays.outputs.add(hash(host.tobytes()))
    return host.reshape(full), kind


def true_scores(context: CheckContext, what: LogitsInput, scale: float) -> Array:
    """The scores in float64."""
    arguments = (what.q, what.k, what.q_positions, what.k_positions)
    return attention_logits(*arguments, context.spec, axes="bthd", scale=scale)


def scale_of(context: CheckContext) -> float:
    """The factor on every score: the one claimed, else 1 or 1/sqrt(D), which is a fact."""
    if context.claim.logit_scale is not None:
        return float(context.claim.logit_scale)
    usual = {"1": 1.0, "1/sqrt(D)": float(context.spec.head_dim**-0.5)}
    if SCALE_FACT not in context.evidence.facts:
        row = context.cut(Case(1, 1, 1, placed(context.claim, 0, 1)))
        x, p = context.x(row), context.positions(row)
        same = LogitsInput(x, x, p, p)
        score, _ = call_logits(context, same)
        ratio = float(score[0, 0, 0, 0]) / float(true_scores(context, same, 1.0)[0, 0, 0, 0])
        middle = context.spec.head_dim**-0.25
        context.evidence.facts[SCALE_FACT] = "1" if not 0 < ratio < middle else "1/sqrt(D)"
    return usual[context.evidence.facts[SCALE_FACT]]


def allowed(
    context: CheckContext, what: LogitsInput, scale: float, kind: str
) -> tuple[Array, Array]:
    """Return how far scores may be from the true ones, and what they are at most.

    Parameters
    ----------
    context
        Its spec, type of data and profile.
    what
        The call.
    scale
        The factor on every score.
    kind
        The type of the scores.

    Returns
    -------
    allowed, size
        (B, H, Tq, Tk). `size` is the sum of all pairs' lengths, times the factor: what is
        allowed is compared with it to see whether a score decides anything.

    Notes
    -----
    With ``e`` the error of a rotated pair (`accuracy.bound`, as a length) and ``r`` its
    length, a pair's part of the score errs by at most ``r_q e_k + r_k e_q + e_q e_k``. The
    sum of D products errs by ``gamma_D`` of the sum of their sizes, whatever the order. The
    factor is rounded once and multiplied once, at worst in the type of the data; the
    score is rounded to its type before and after it. The true score is computed in
    float64, with errors of its own.
    """
    spec, group = context.spec, what.q.shape[2] // what.k.shape[2]
    calculation = context.profile.calculation(context.dtype)
    u_calc, u_data, u_out = (unit_roundoff(t) for t in (calculation, context.dtype, kind))
    (r_q, e_q), (r_k, e_k) = (
        _lengths(context, x, p) for x, p in ((what.q, what.q_positions), (what.k, what.k_positions))
    )
    r_k, e_k = (np.repeat(part, group, axis=1) for part in (r_k, e_k))
    rest = passing_channels(spec)
    q_rest, k_rest = (
        np.abs(np.asarray(x[..., rest], np.float64)).transpose(0, 2, 1, 3) for x in (what.q, what.k)
    )
    k_rest = np.repeat(k_rest, group, axis=1)
    untouched = q_rest @ k_rest.swapaxes(-1, -2)
    size = r_q @ r_k.swapaxes(-1, -2) + untouched
    with np.errstate(invalid="ignore"):  # outside the profile anything is allowed
        error = r_q @ e_k.swapaxes(-1, -2) + e_q @ (r_k + e_k).swapaxes(-1, -2)
    error = np.where(np.isnan(error), np.inf, error)
    most = size + error
    d = spec.head_dim
    total = error + _gamma(d, u_calc) * most
    if scale != 1:
        total = total + _gamma(2, u_data) * (most + total)
    total = total + _gamma(2, u_out) * (most + total)
    total = total + _gamma(d + 10, unit_roundoff("float64")) * size
    least = (d + 2) * tiny(calculation) * max(scale, 1.0) + 2 * tiny(kind) * max(scale, 1.0)
    return scale * total + least, scale * size


def _gamma(n: int, u: float) -> float:
    return n * u / (1 - n * u)


def _lengths(context: CheckContext, x: Array, positions: Array) -> tuple[Array, Array]:
    """The length of each pair, and how far it may be off: (B, H, T, R/2)."""
    r = pair_norm(x, context.spec)
    p = per_token(positions, context.spec)
    residual = bound(context.profile, context.spec, p, context.dtype, r, norm=True)
    with np.errstate(invalid="ignore"):
        e = np.where(r == 0, 0.0, residual * r * unit_roundoff(context.dtype))
    return r.transpose(0, 2, 1, 3), e.transpose(0, 2, 1, 3)


def demand_scores(
    context: CheckContext,
    what: LogitsInput,
    pair: tuple[Array, Array],
    limits: tuple[Array, Array],
    message: str,
) -> None:
    """Count the evidence, and fail with the first score that is off by more than allowed.

    Parameters
    ----------
    context
        Counts.
    what
        The call.
    pair
        The scores got and wanted.
    limits
        As `allowed` returns them.
    message
        What is wrong.
    """
    bad, decisive = wrong_scores(pair, limits)
    context.evidence.samples += decisive.size
    context.evidence.decisive += int(decisive.sum())
    if not bad.any():
        return
    (got, want), (limit, _) = pair, limits
    b, h, i, j = (int(n) for n in np.argwhere(bad)[0])
    m, n = (
        place_in_words(p, context.spec, b, t)
        for p, t in ((what.q_positions, i), (what.k_positions, j))
    )
    raise CheckFailure(
        f"{message}: row {b}, head {h}, query {i} at position {m}, key {j} at position {n}: "
        f"got {got[b, h, i, j]:.9g}, want {want[b, h, i, j]:.9g}, "
        f"{abs(got[b, h, i, j] - want[b, h, i, j]) / limit[b, h, i, j]:.3g} times what is allowed"
    )


def wrong_scores(
    pair: tuple[Array, Array], limits: tuple[Array, Array]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which scores are wrong, and which could tell right from wrong."""
    (got, want), (limit, size) = pair, limits
    # A score of zeros decides nothing, but must be 0.
    decisive = limit <= DECISIVE * size
    nothing = size == 0
    error = np.abs(np.asarray(got, np.float64) - want)
    return ~(error <= limit) & (decisive | nothing), decisive


def compare_scores(context: CheckContext, what: LogitsInput, factor: float, message: str) -> None:
    """Compare with the reference's scores, and say what may have been done instead."""
    scores, kind = call_logits(context, what)
    limits = allowed(context, what, factor, kind)
    try:
        demand_scores(context, what, (scores, true_scores(context, what, factor)), limits, message)
    except CheckFailure as failure:
        raise explained(failure, context, what, factor, (scores, kind)) from None


def explained(
    failure: CheckFailure,
    context: CheckContext,
    what: LogitsInput,
    factor: float,
    got: tuple[Array, str],
) -> CheckFailure:
    """The same failure with what may have been done instead, where that is plain."""
    scores, kind = got

    def fits(seen: Array, other: LogitsInput) -> bool:
        limits = allowed(context, other, factor, kind)
        bad, decisive = wrong_scores((seen, true_scores(context, other, factor)), limits)
        return bool(decisive.any() and not bad.any())

    new = new_object(context)
    with contextlib.suppress(CheckFailure, TargetRaised):
        if new is not None and fits(call_logits(new, what)[0], what):
            words = "a new object does it rightly, this one was used before"
            return CheckFailure(f"{failure}; {words}", fault="cache")
    for words, fault, other in (*_suspects(what), *_left_out(what, context)):
        if fits(scores, other):
            return CheckFailure(f"{failure}; {words}", fault=fault)
    if what.q.shape[1] == what.k.shape[1] and fits(scores.swapaxes(2, 3), what):
        words = "queries and keys are exchanged in the scores"
        return CheckFailure(f"{failure}; {words}", fault="broadcast")
    want, (limit, size) = true_scores(context, what, factor), allowed(context, what, factor, kind)
    if (np.abs(scores - want) <= size / 256).all():
        words = "all scores are nearly right: something is rounded on the way"
        return CheckFailure(f"{failure}; {words}", fault="dtype")
    fitted = _fitted(scores, want, (limit, size))
    if fitted is not None:
        words = f"all scores are {fitted:.6g} times what they should be"
        return CheckFailure(f"{failure}; {words}", fault="scaling")
    by_head = [
        _fitted(scores[:, [h]], want[:, [h]], (limit[:, [h]], size[:, [h]]))
        for h in range(want.shape[1])
    ]
    if all(by_head):
        words = "each head's scores are right up to a factor, which is not the same for all"
        return CheckFailure(f"{failure}; {words}", fault="scaling")
    bad, _ = wrong_scores((scores, want), (limit, size))
    with contextlib.suppress(CheckFailure, TargetRaised):
        one = _alone(what, tuple(np.argwhere(bad)[0].tolist())) if bad.any() else None
        if one is not None and fits(call_logits(new or context, one)[0], one):
            words = "its query and its key alone have the right score"
            return CheckFailure(f"{failure}; {words}", fault="kernel-shape")
    return failure


def _alone(what: LogitsInput, place: tuple[int, ...]) -> LogitsInput | None:
    """One row, head, query and key of a call; None if it has no more."""
    b, h, i, j = place
    g = h * what.k.shape[2] // what.q.shape[2]
    q, k = (x[[b]][:, [t]][:, :, [n]] for x, t, n in ((what.q, i, h), (what.k, j, g)))
    if (q.shape, k.shape) == (what.q.shape, what.k.shape):
        return None
    positions = (
        (p if p.ndim == 1 else p[[b]])[..., [t]]
        for p, t in ((what.q_positions, i), (what.k_positions, j))
    )
    return LogitsInput(q, k, *positions)


def _suspects(what: LogitsInput) -> Iterator[tuple[str, Fault, LogitsInput]]:
    """What may have been done instead, and whose fault that is."""
    p_q, p_k = what.q_positions, what.k_positions
    queries, keys = (np.arange(p.shape[-1]) + 0 * p for p in (p_q, p_k))
    ends = keys.shape[-1] - queries.shape[-1]
    for words, changed in (
        ("q_positions are not used: queries stand at 0, 1, 2, ...", {"q_positions": queries}),
        ("k_positions are not used: keys stand at 0, 1, 2, ...", {"k_positions": keys}),
        (
            "neither positions are used: both stand at 0, 1, 2, ...",
            {"q_positions": queries, "k_positions": keys},
        ),
        ("q_positions are not used: queries are the last keys", {"q_positions": queries + ends}),
        ("the first query stands with the first key", {"q_positions": p_k[..., :1] + queries}),
        ("queries are not rotated", {"q_positions": 0 * p_q}),
        ("keys are not rotated", {"k_positions": 0 * p_k}),
        ("neither queries nor keys are rotated", {"q_positions": 0 * p_q, "k_positions": 0 * p_k}),
        ("queries stand one position later", {"q_positions": p_q + 1}),
        ("queries stand one position earlier", {"q_positions": p_q - 1}),
        ("keys stand one position later", {"k_positions": p_k + 1}),
        ("keys stand one position earlier", {"k_positions": p_k - 1}),
    ):
        yield words, "position", replace(what, **changed)
    if p_q.shape[-1] >= p_k.shape[-1]:
        same = p_q[..., : p_k.shape[-1]]
        yield "keys stand at the positions of queries", "position", replace(what, k_positions=same)
    if p_k.shape[-1] >= p_q.shape[-1]:
        same = p_k[..., : p_q.shape[-1]]
        yield "queries stand at the positions of keys", "position", replace(what, q_positions=same)
    behind = p_k.max(axis=-1, keepdims=True) + 1 + queries
    yield "queries stand behind all keys", "position", replace(what, q_positions=behind)
    turned = replace(what, q_positions=-p_q, k_positions=-p_k)
    yield "the distance has the other sign", "sign", turned
    yield "queries turn the other way", "sign", replace(what, q_positions=-p_q)
    yield "keys turn the other way", "sign", replace(what, k_positions=-p_k)
    heads, shared = what.q.shape[2], what.k.shape[2]
    if 1 < shared < heads:
        # Interleaved, as if every query head had a key head of its own.
        own = what.k[:, :, np.arange(heads) % shared]
        yield "the groups of heads are interleaved", "broadcast", replace(what, k=own)
    if len(what.q) > 1:
        for name in ("q", "k", "q_positions", "k_positions"):
            array = getattr(what, name)
            if name in ("q", "k") or array.ndim == 2:
                first = np.broadcast_to(array[:1], array.shape)
                yield (
                    f"{name} of row 0 stand for all rows",
                    "broadcast",
                    replace(what, **{name: first}),
                )


def _left_out(what: LogitsInput, context: CheckContext) -> Iterator[tuple[str, Fault, LogitsInput]]:
    """Inputs without the channels that may be missing from the scores."""
    rotating, rest = pair_channels(context.spec).ravel(), passing_channels(context.spec)
    for words, channels in (
        ("channels that pass through are left out", rest),
        ("channels that rotate are left out", rotating),
    ):
        if channels.size:
            q = what.q.copy()
            q[..., channels] = 0
            yield words, "partial", replace(what, q=q)


def _fitted(got: Array, want: Array, limits: tuple[Array, Array]) -> float | None:
    """The one factor by which all scores are off, if there is one."""
    got = np.asarray(got, np.float64)
    square = float((want * want).sum())
    if not np.isfinite(got).all() or square == 0:
        return None
    ratio = float((got * want).sum()) / square
    limit, size = limits
    bad, _ = wrong_scores((got, ratio * want), (limit * max(abs(ratio), 1), size))
    return None if bad.any() else ratio
