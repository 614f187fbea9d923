"""Sharper scores in long texts: temperatures and softmax factors.

None of this rotates. A temperature multiplies a query, and so its scores, by a number
that depends on the query's position; a softmax factor multiplies all scores alike.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, as_positions, shown
from rope_ref.errors import FrequencyValueError, NegativePositionError
from rope_ref.exact.parameters import choice, number, positive
from rope_ref.exact.real import DIGITS, Real, logarithm, nearest, real, real_arithmetic

__all__ = ["log_temperature", "softmax_factor", "step_temperature"]


def step_temperature(
    positions: npt.ArrayLike,
    *,
    length: Real,
    coefficient: Real = Fraction(1, 10),
    first: int = 0,
) -> FloatArray:
    """Return ``1 + coefficient ln(1 + floor((position + first) / length))``.

    Parameters
    ----------
    positions
        Of the queries, any shape, at least 0.
    length
        How many tokens there are in a step.
    coefficient
        How much a step counts.
    first
        The number of the first token in this formula: 0, or 1.

    Returns
    -------
    temperature
        float64 of the shape of `positions`, each the real number rounded once. Queries are
        multiplied by it.

    Raises
    ------
    FrequencyValueError
        If `length` is not positive, `coefficient` no finite number, `first` not 0 or 1, or a
        temperature is beyond the largest float64.
    NegativePositionError
        If a position is below 0; and the errors of `cos_sin` about positions.

    Notes
    -----
    Ministral-3 and Mistral-4 count from 0 (``llama_4_scaling_beta``; the length is the
    original one). Llama-4's layers without RoPE count from 1 (``floor_scale`` 8192,
    ``attn_scale`` 0.1): at position 8191 the two differ by 0.069. Source:
    huggingface/transformers, modeling_llama4.py and modeling_ministral3.py.
    """
    call = (
        f"step_temperature(positions, length={shown(length)}, coefficient={shown(coefficient)}, "
        f"first={shown(first)})"
    )
    step = Fraction(positive(length, call, "length", "a usual one is 8192"))
    weight = number(coefficient, call, "coefficient")

    def of(index: Fraction) -> Decimal:
        return 1 + real(weight) * Decimal(1 + index // step).ln()

    return _each(positions, first, of, call, "give a smaller coefficient")


def log_temperature(positions: npt.ArrayLike, *, length: Real, first: int = 1) -> FloatArray:
    """Return ``ln(position + first) / ln(length)`` where that is above 1, else 1.

    Parameters
    ----------
    positions
        Of the queries, any shape, at least 0.
    length
        The length the model was trained for, above 1.
    first
        The number of the first token in this formula: 1, or 0.

    Returns
    -------
    temperature
        float64 of the shape of `positions`, each the real number rounded once. Queries are
        multiplied by it.

    Raises
    ------
    FrequencyValueError
        If `length` is not above 1, or `first` not 0 or 1.
    NegativePositionError
        If a position is below 0; and the errors of `cos_sin` about positions.

    Notes
    -----
    Qwen-1 counts from 1 (``use_logn_attn``). Grok counts from 0
    (``attn_temperature_len``), in sgl-project/sglang, grok.py.
    """
    call = f"log_temperature(positions, length={shown(length)}, first={shown(first)})"
    trained = positive(length, call, "length", "a usual one is 8192")
    below = logarithm(trained)
    if below <= 0:
        raise FrequencyValueError(
            f"{call}: length must be above 1, for its logarithm divides, got {shown(length)}"
        )

    def of(index: Fraction) -> Decimal:
        return real(index).ln() / below if index > trained else Decimal(1)

    return _each(positions, first, of, call, "give a larger length")


def softmax_factor(factor: Real, *, mscale: Real = 1, coefficient: Real = Fraction(1, 10)) -> float:
    """Return ``(coefficient mscale ln(factor) + 1)**2``: what YaRN's amplitude does to scores.

    Systems that keep cos and sin pure multiply the usual scale ``1 / sqrt(D)`` by it.

    Parameters
    ----------
    factor
        How many times longer the context became; at most 1 gives 1.
    mscale
        Weight of the logarithm: DeepSeek's ``mscale_all_dim``.
    coefficient
        0.1 in the paper.

    Returns
    -------
    factor
        The real number rounded once.

    Raises
    ------
    FrequencyValueError
        If a parameter is no finite number, `factor` not positive, or the result beyond the
        largest float64.

    Notes
    -----
    Source: DeepSeek-V2 and V3, deepseek-ai/DeepSeek-V3, model.py; D is the whole head,
    192 there.
    """
    call = (
        f"softmax_factor({shown(factor)}, mscale={shown(mscale)}, coefficient={shown(coefficient)})"
    )
    longer = positive(factor, call, "factor", "1 changes nothing")
    weights = number(mscale, call, "mscale"), number(coefficient, call, "coefficient")
    if longer <= 1:
        return 1.0
    with real_arithmetic(DIGITS):
        magnitude = real(weights[0]) * real(weights[1]) * real(longer).ln() + 1
        hint = "give a smaller mscale or coefficient"
        return nearest(magnitude * magnitude, f"{call}: the factor", hint)


def _each(
    positions: npt.ArrayLike, first: int, of: Callable[[Fraction], Decimal], call: str, hint: str
) -> FloatArray:
    """A function of each position's number in the text."""
    choice(first, (0, 1), call, "first")
    p = as_positions(positions, call)
    if p.size and p.min() < 0:
        raise NegativePositionError(
            f"{call}: positions must be at least 0, for a text is counted from its start; "
            f"got {p.min()}"
        )
    different, where = np.unique(p, return_inverse=True)
    with real_arithmetic(DIGITS):
        values = [
            nearest(of(Fraction(each) + int(first)), f"{call}: the temperature at {each}", hint)
            for each in different.tolist()
        ]
    return np.array(values, dtype=np.float64)[where].reshape(p.shape)
