"""A text that outgrows the length a model was trained for, while it is being served.

`DynamicNTK` and `LongRoPE` give other frequencies to longer texts, but a server sees a text
piece by piece: a prompt, perhaps in chunks, then one token after another. Public systems differ
in which length counts at each of these forward passes, and in what they remember of earlier
ones. Here each forward pass makes a new rule from the one before; all that it remembers is the
rule's own `length`. Keys in the cache keep the frequencies they were rotated with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeVar

import numpy.typing as npt

from rope_ref.arguments import as_positions, shown
from rope_ref.errors import FrequencyValueError, PositionShapeError
from rope_ref.exact.parameters import choice
from rope_ref.scaling.longrope import LongRoPE
from rope_ref.scaling.ntk import DynamicNTK

__all__ = ["LENGTH_RULES", "LengthRule", "served_rule"]

LengthRule = Literal["resets", "forward", "grows", "configured"]
LENGTH_RULES: tuple[LengthRule, ...] = ("resets", "forward", "grows", "configured")

Rule = TypeVar("Rule", bound=DynamicNTK | LongRoPE)


def served_rule(
    rule: Rule, positions: npt.ArrayLike, *, length_rule: LengthRule = "forward"
) -> Rule:
    """Return the frequency rule of a forward pass, given that of the one before.

    The length of a forward pass is its largest position plus 1, over all rows.

    Parameters
    ----------
    rule
        The rule of the forward pass before; for the first one the model's, whose `length`
        is None.
    positions
        Those of this forward pass, of any shape but empty.
    length_rule
        Which length counts.

        - ``"forward"``: that of this forward pass; nothing is remembered.
        - ``"grows"``: the largest there has been, in any request.
        - ``"resets"``: the largest there has been, until a forward pass is shorter than the
          original length: then the original frequencies are back. At exactly the
          original length they are not.
        - ``"configured"``: the one that `rule` was made with, whatever is served.

    Returns
    -------
    rule
        The same rule at its new length: for this forward pass, and to give to the next call.

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
    long; dynamic NTK in SGLang, at factor times the original length. One call gives one rule
    for all its positions. Call it for each row where no row of a batch may depend on the others
    (asked for in vllm-project/vllm#6283), and for each token where a system decides token by
    token (LongRoPE in text-generation-inference). To decide by the number of tokens in the
    call is a fault: a decoding step has one.
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
