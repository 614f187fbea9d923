"""A claim that allows everything, what a check sees with a claim, and drawn inputs."""

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from rope_conformance.judging.context import CheckContext
from rope_conformance.target.claim import Claim
from rope_conformance.target.implementation import Implementation
from rope_conformance.zoo import CONTROLS
from rope_ref import RopeSpec


@pytest.fixture(scope="session")
def wide():
    """All that can be claimed of positions."""
    return Claim(
        position_forms=("t", "bt"),
        position_range=(-(2**31) - 1, 2**31 + 1),
        position_kinds=("integer", "real"),
        empty=True,
        strided=True,
    )


@pytest.fixture(scope="session")
def context_of():
    """Return what a check sees of an honest implementation with a claim."""

    def context_of(claim):
        spec = RopeSpec(64, layout="half")
        return CheckContext(
            Implementation(CONTROLS["float32_power"].factory, spec, claim), "float32"
        )

    return context_of


@pytest.fixture(scope="session")
def sampled():
    """Return inputs as a run would draw them."""

    def sampled(strategy, count=300):
        drawn = []

        @seed(0)
        @settings(
            max_examples=count,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def draw(case):
            drawn.append(case)

        draw()
        return drawn

    return sampled
