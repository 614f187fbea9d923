"""A text that outgrows the length a model was trained for, while it is being served.

`DynamicNTK` and `LongRoPE` give other frequencies to longer texts, but a server sees a text
piece by piece: a prompt, perhaps in chunks, then one token after another. Which length
counts at each of these forwards, and what is remembered of earlier ones, is a choice of
its own, and public systems make it differently. Here it is a step from rule to rule: all
that is remembered is the rule's own length.

Keys that are in the cache already keep the frequencies they were rotated with. Their
positions can still be moved, by those same frequencies: `reposition_rope`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, as_positions, shown
from rope_ref.errors import FrequencyValueError, PositionShapeError
from rope_ref.exact.parameters import choice
from rope_ref.rotation import apply_cos_sin, as_real, check_shapes
from rope_ref.scaling.longrope import LongRoPE
from rope_ref.scaling.ntk import DynamicNTK
from rope_ref.spec import RopeSpec, demand_spec
from rope_ref.table import cos_sin

__all__ = ["LENGTH_RULES", "LengthRule", "reposition_rope", "served_rule"]

LengthRule = Literal["resets", "forward", "grows", "configured"]
LENGTH_RULES: tuple[LengthRule, ...] = ("resets", "forward", "grows", "configured")

Rule = TypeVar("Rule", bound=DynamicNTK | LongRoPE)


def served_rule(
    rule: Rule, positions: npt.ArrayLike, *, length_rule: LengthRule = "forward"
) -> Rule:
    """Return the rule that holds for a forward, given the one that held for the last.

    The length of a forward is its largest position plus 1, over all rows.

    Parameters
    ----------
    rule
        The rule of the forward before; for the first one the model's, whose `length` is
        None.
    positions
        Those of the forward, of any shape but empty.
    length_rule
        Which length counts.

        - ``"forward"``: that of this forward; nothing is remembered.
        - ``"grows"``: the largest there has been, in any request.
        - ``"resets"``: the largest there has been, until a forward is shorter than the
          original length: then the original frequencies are back. At exactly the
          original length they are not.
        - ``"configured"``: the one that `rule` was made with, whatever is served.

    Returns
    -------
    rule
        The same rule at its new length: what holds for this forward, and what the next
        call is to be given.

    Raises
    ------
    FrequencyValueError
        If `rule` does not depend on a length, or `length_rule` is none of these.
    PositionShapeError
        If there are no positions; and the errors of `cos_sin` about positions.

    Notes
    -----
    ``"forward"``: `longrope` in huggingface/transformers; mlx-lm, lmdeploy. ``"resets"``:
    `dynamic` in transformers, whose `seq_len < original` and `seq_len > cached` leave the
    two gaps. ``"grows"``: text-generation-inference. ``"configured"``: LongRoPE in vLLM
    and llama.cpp, by the length they are started with; mlx-lm's, as if that were always
    long; dynamic NTK in SGLang, at factor times the original length. One rule holds for all
    that is given here. A system in which no row of a batch depends on the others
    (asked for in vllm-project/vllm#6283) is ``"forward"`` for each row by itself, and one
    that decides token by token (LongRoPE in text-generation-inference) for each token by
    itself. To decide by the number of tokens in the call is a fault: a decoding step
    has one.
    """
    call = f"served_rule({shown(rule)}, positions, length_rule={shown(length_rule)})"
    if not isinstance(rule, DynamicNTK | LongRoPE):
        raise FrequencyValueError(
            f"{call}: rule must be a DynamicNTK or a LongRoPE; the frequencies of others do not "
            "depend on a length"
        )
    choice(length_rule, LENGTH_RULES, call, "length_rule")
    p = as_positions(positions, call)
    if not p.size:
        raise PositionShapeError(f"{call}: a forward needs at least one position, got none")
    if length_rule == "configured":
        return rule
    length = p.max().item() + 1
    known = rule.original_length
    if length_rule != "forward" and rule.length is not None:
        known = max(rule.length, known)
    if length > known:
        return replace(rule, length=length)
    back = length_rule == "resets" and length < rule.original_length
    return replace(rule, length=None) if back or length_rule == "forward" else rule


def reposition_rope(
    k: npt.ArrayLike, delta: npt.ArrayLike, spec: RopeSpec, *, axes: str
) -> FloatArray:
    """Rotate keys again that are rotated already, so that they stand `delta` further on.

    Equal to `apply_rope` of the keys at the new positions, up to rounding: a rotation
    without amplitude, for that is on the keys already, read and written in the spec's
    output layout.

    Parameters
    ----------
    k
        Keys as `apply_rope` returns them, with one axis per letter of `axes`.
    delta
        How far they move: shapes and kinds of numbers as positions in `apply_rope`; a
        scalar moves all alike, along all axes. Negative to close a gap.
    spec
        The RoPE they were rotated by. Where frequencies change with the length, it is not
        the one that holds now.
    axes
        As in `apply_rope`.

    Returns
    -------
    k
        float64, of the same shape. Channels that do not rotate stay as they are.

    Raises
    ------
    AxesError, ShapeError, DtypeError, PositionShapeError
        If k, axes and delta do not fit each other; and the errors of `cos_sin`.

    Notes
    -----
    To use `apply_rope` here is a fault where the amplitude A is not 1: each shift
    multiplies the keys by A once more, by 1.1386 for YaRN with factor 4, a shift by 0 too
    (ggml-org/llama.cpp#17945). Source of the operation: the K-shift of llama.cpp; Xiao et
    al., StreamingLLM, arXiv:2309.17453.
    """
    call = f"reposition_rope(k, delta, spec, axes={shown(axes)})"
    demand_spec(spec, call)
    k = as_real(k, call, "k")
    moves: npt.NDArray[np.generic] = as_positions(delta, call, "delta")
    if spec.pair_axes is not None and not moves.ndim:
        moves = np.broadcast_to(moves, (max(spec.pair_axes) + 1,))
    if not check_shapes(k.shape, moves.shape, spec, axes, call):
        moves = np.broadcast_to(moves[..., None], (*moves.shape, k.shape[axes.index("t")]))
    cos, sin = cos_sin(moves, spec, unit=True)
    layout, start = spec.output_layout, spec.rotary_start
    return apply_cos_sin(k, cos, sin, layout=layout, axes=axes, rotary_start=start)
