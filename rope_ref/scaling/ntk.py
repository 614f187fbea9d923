"""NTK-aware scaling: a longer context by a larger base.

The fast pairs stay as they are and the slowest is slowed down by a given factor; those
between follow. Three public rules go by this name, and they give different numbers.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from fractions import Fraction

from rope_ref.arguments import as_integer, shown
from rope_ref.errors import FrequencyValueError, NtkWidthError
from rope_ref.exact.real import Real, optional, positive, real, real_arithmetic
from rope_ref.scaling.frequencies import PowerLaw, ladder_of
from rope_ref.scaling.scaled_rules import ScaledRule

__all__ = ["NTK", "DynamicNTK", "FixedNTK", "qwen_alpha"]


@dataclass(frozen=True)
class NTK(ScaledRule):
    """NTK-aware scaling: the base becomes ``base * alpha**(R / (R - 2))``.

    The first pair keeps its frequency; where the rule's denominator is R, as it is if none is
    given, the last is divided by exactly alpha.

    Parameters
    ----------
    rule
        A power law.
    alpha
        By how much the slowest pair is slowed down, where the denominator is R.

    Raises
    ------
    FrequencyValueError
        If `alpha` is not a positive finite number, or `rule` no power law.
    NtkWidthError
        When used with two channels: the exponent would be infinite.

    Notes
    -----
    Source: the `theta_rescale_factor` of lucidrains/rotary-embedding-torch; the `alpha`
    of Hunyuan in huggingface/transformers. Some readings multiply the base by a factor
    without exponent: that is ``PowerLaw(base * factor)``.
    """

    rule: PowerLaw
    _: KW_ONLY
    alpha: Real

    def __post_init__(self) -> None:
        call = self._call(alpha=self.alpha)
        self._needs_power_law(call)
        self._set(alpha=positive(self.alpha, call, "alpha", "1 changes nothing"))

    def real_theta(self, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
        """theta_i of each pair, to `digits` significant digits."""
        return _ntk(self, self.alpha, rotary_dim, digits)


@dataclass(frozen=True)
class FixedNTK(ScaledRule):
    """The scaling that vLLM calls ``ntk``: every pair is slowed, the first one too.

    ``(base * factor)**(-2i/R) / factor**(2/R)``; with a `mixing` exponent,
    ``base**(-2i/R) / exp(c (i + 1)**mixing)`` with c such that the last pair is divided
    by `factor`.

    Parameters
    ----------
    rule
        A power law.
    factor
        By how much the slowest pair is slowed down.
    mixing
        vLLM's ``mixed_b``.

    Raises
    ------
    FrequencyValueError
        If a parameter is not a positive finite number, or `rule` no power law.

    Notes
    -----
    Source: vllm-project/vllm, ntk_scaling_rope.py.
    """

    rule: PowerLaw
    _: KW_ONLY
    factor: Real
    mixing: Real | None = None

    def __post_init__(self) -> None:
        call = self._call(factor=self.factor, mixing=self.mixing)
        self._needs_power_law(call)
        self._set(
            factor=positive(self.factor, call, "factor", "1 changes nothing"),
            mixing=optional(self.mixing, call, "mixing"),
        )

    def real_theta(self, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
        """theta_i of each pair, to `digits` significant digits."""
        pairs = rotary_dim // 2
        theta = self.rule.real_theta(rotary_dim, digits)
        with real_arithmetic(digits):
            logarithm = real(self.factor).ln()
            # The slow-down of pair i is factor**((i + 1)/pairs)**mixing; mixing is 1 if left out.
            mixing = real(1 if self.mixing is None else self.mixing)
            shares = ((mixing * (Decimal(i + 1) / pairs).ln()).exp() for i in range(pairs))
            return tuple(
                w / (logarithm * share).exp() for w, share in zip(theta, shares, strict=True)
            )


@dataclass(frozen=True)
class DynamicNTK(ScaledRule):
    """NTK-aware scaling whose alpha grows with the length of the text.

    ``alpha = factor * q / original_length - (factor - 1)`` with q the length, but at
    least `original_length`. This is the rule without memory; which length a system puts
    in, and when, is in `rope_ref.extensions.length_rules`.

    Parameters
    ----------
    rule
        A power law.
    factor
        Public configs call it ``factor``.
    original_length
        The length up to which nothing changes.
    length
        The length in question; None for any up to `original_length`.

    Raises
    ------
    FrequencyValueError
        If a parameter is not a positive finite number, or `rule` no power law.
    NtkWidthError
        When used with two channels.

    Notes
    -----
    Source: `dynamic` in huggingface/transformers, modeling_rope_utils.py. A system that
    always takes the longest text it serves has one fixed `length`.
    """

    rule: PowerLaw
    _: KW_ONLY
    factor: Real
    original_length: Real
    length: Real | None = None

    def __post_init__(self) -> None:
        call = self._call(
            factor=self.factor, original_length=self.original_length, length=self.length
        )
        self._needs_power_law(call)
        hint = "give the length the model was trained for"
        self._set(
            factor=positive(self.factor, call, "factor", "a usual one is 2"),
            original_length=positive(self.original_length, call, "original_length", hint),
            length=optional(self.length, call, "length"),
        )

    def at(self, length: Real) -> DynamicNTK:
        """The same rule at another length."""
        return replace(self, length=length)

    @property
    def alpha(self) -> Fraction:
        """The alpha of `NTK` at this length: what the slowest pair is divided by, exactly,
        where the rule's denominator is R.
        """
        shortest = Fraction(self.original_length)
        q = shortest if self.length is None else max(Fraction(self.length), shortest)
        return Fraction(self.factor) * q / shortest - (Fraction(self.factor) - 1)

    def real_theta(self, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
        """theta_i of each pair, to `digits` significant digits."""
        return _ntk(self, self.alpha, rotary_dim, digits)


def qwen_alpha(length: int, trained_length: int) -> int:
    """Return the alpha of `NTK` that Qwen-1 takes for a prompt of some length.

    ``2**ceil(log2(length / trained_length) + 1) - 1``, at least 1: a step at each doubling.

    Parameters
    ----------
    length, trained_length
        In tokens, at least 1.

    Returns
    -------
    alpha
        1, 3, 7, 15, ...

    Raises
    ------
    FrequencyValueError
        If one of them is no integer of at least 1.

    Notes
    -----
    Source: the modelling code published with Qwen-1; vllm-project/vllm#1860.
    """
    numbers = []
    for name, value in (("length", length), ("trained_length", trained_length)):
        number = as_integer(value)
        if number is None or number < 1:
            raise FrequencyValueError(
                f"qwen_alpha({shown(length)}, {shown(trained_length)}): {name} must be an integer "
                f"of at least 1, got {shown(value)}"
            )
        numbers.append(number)
    tokens, trained = numbers
    doublings = 0
    while trained << doublings < tokens:
        doublings += 1
    return (1 << doublings + 1) - 1 if doublings else 1


def base_for(rule: PowerLaw, alpha: Real, rotary_dim: int, digits: int) -> Decimal:
    """``base * alpha**(R/(R - 2))``, to some digits, in the arithmetic in use."""
    exponent = Decimal(rotary_dim) / (rotary_dim - 2)
    return real(rule.base) * (exponent * real(alpha).ln()).exp()


def _ntk(remap: NTK | DynamicNTK, alpha: Real, rotary_dim: int, digits: int) -> tuple[Decimal, ...]:
    if rotary_dim == 2 and alpha != 1:
        raise NtkWidthError(
            f"rotary_dim=2 with {shown(remap)}: the base is raised by alpha**(R/(R - 2)), which "
            "has no value at R = 2; NTK scaling needs rotary_dim of at least 4"
        )
    rule = remap.rule
    if alpha == 1 or rotary_dim == 0:
        return rule.real_theta(rotary_dim, digits)
    with real_arithmetic(digits):
        denominator = rotary_dim if rule.denominator is None else rule.denominator
        base = base_for(rule, alpha, rotary_dim, digits)
        return ladder_of(base, real(denominator), rotary_dim // 2)
