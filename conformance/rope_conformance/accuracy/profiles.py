"""The profiles: chains of number types that RoPEs are computed in.

A *profile* names the type of the phases, the recipe that the frequencies come from, and where
the products are rounded. From these follows, by counting roundings, how large the error of one
rotated pair can be (`rope_conformance.accuracy.bound`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rope_conformance.accuracy.amplification import Recipe, amplification
from rope_conformance.accuracy.number_types import FloatArray
from rope_ref import RopeSpec
from rope_ref.arguments import POSITION_LIMIT

__all__ = ["PROFILES", "Profile", "profile_named"]


@dataclass(frozen=True)
class Profile:
    """A chain of number types and a frequency recipe.

    Parameters
    ----------
    name
        What claims and reports call it.
    sentence
        What it means, for people.
    phase
        The type positions, frequencies and phases are held in; None where phases are exact.
    recipe
        How the frequencies were computed.
    output_roundings
        ``a``: roundings in the output type that the calculation's ``k`` does not count.
    underflows
        ``n``: roundings that can fall among the subnormals of the output type.
    position_limit
        Positions at or beyond this are outside the profile.
    trig_ulps
        ``t``: documented error of sin and cos in ulps; ``k = 2 t + 2``.
    """

    name: str
    sentence: str
    phase: str | None
    recipe: Recipe = "rounded"
    output_roundings: int = 1
    wide_products: bool = True
    position_limit: int = POSITION_LIMIT
    trig_ulps: int = 1

    def calculation(self, dtype: str) -> str:
        """Return the type trig and products are computed in when the output is `dtype`."""
        if dtype == "float64" and self.phase != "float32":
            return "float64"
        return "float32"

    def amplification(self, spec: RopeSpec) -> FloatArray:
        """Return m_i, how many units of the phase's rounding error pair i can gather."""
        if self.phase is None:
            return np.zeros(spec.rotary_dim // 2)
        return amplification(spec.frequencies, spec.rotary_dim, self.recipe, self.phase)


PROFILES = (
    Profile(
        "exact",
        "phases lose nothing, at every integer position below 2**31",
        phase=None,
        position_limit=2**31,
    ),
    Profile(
        "float64",
        "positions, frequencies and phases in float64",
        phase="float64",
        recipe="exp-single",
    ),
    Profile(
        "float32-power",
        "phases in float32, frequencies by 1 / base**(2i/R) in float32",
        phase="float32",
        recipe="power",
    ),
    Profile(
        "float32",
        "phases in float32, frequencies by any usual recipe in float32",
        phase="float32",
        recipe="exp-single",
    ),
    Profile(
        "float32-product",
        "phases in float32, frequencies by a running product over the pairs",
        phase="float32",
        recipe="product",
    ),
    Profile(
        "model-dtype-table",
        "phases in float32; table, products and sum in the type of the data",
        phase="float32",
        recipe="exp-single",
        output_roundings=3,
        wide_products=False,
    ),
)


def profile_named(name: str) -> Profile:
    """Return the named profile.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    for profile in PROFILES:
        if profile.name == name:
            return profile
    known = ", ".join(repr(p.name) for p in PROFILES)
    raise ValueError(f"profile={name!r} is not known; the profiles are {known}")
