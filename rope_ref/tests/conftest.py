"""The truth that rope_ref is held against: Arb's balls, whose radius is a proof.

Nothing here imports rope_ref. The helpers come as a fixture because tests are
collected with ``--import-mode=importlib`` and so cannot import each other.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import repeat

import numpy as np
import pytest
from flint import arb, ctx, fmpq

# base, rotary_dim: what models use, an awkward width, a base below 1 (theta grows), one that
# is no integer, and one so large that most pairs hardly turn.
LADDERS = [
    (1e4, 128),
    (5e5, 128),
    (1e6, 80),
    (1e7, 64),
    (1e4, 96),
    (1e4, 6),
    (0.37, 10),
    (1234.5678, 48),
    (1e40, 16),
]


class Oracle:
    """Real numbers as balls, and the distance of float64 numbers from them."""

    ladders = LADDERS
    u = float.fromhex("0x1p-53")  # unit roundoff of float64

    @property
    def pi(self) -> arb:
        """Half a turn."""
        return arb.pi()

    def exact(self, x: object) -> arb:
        """The number itself: floats, integers and fractions are not rounded."""
        if isinstance(x, Fraction):
            return arb(fmpq(x.numerator, x.denominator))
        return arb(float(x) if isinstance(x, np.floating) else x)

    def power_law(self, base: object, rotary_dim: int) -> list[arb]:
        """theta_i = base**(-2i/R)."""
        log = self.exact(base).log()
        return [(log * -2 * i / rotary_dim).exp() for i in range(rotary_dim // 2)]

    def cos_sin(self, position: object, theta: arb) -> tuple[arb, arb]:
        """cos and sin of position x theta."""
        sin, cos = (self.exact(position) * theta).sin_cos()
        return cos, sin

    def ulps(
        self, got: np.ndarray, truth: Sequence[arb], low: np.ndarray | None = None
    ) -> np.ndarray:
        """Largest possible distance of ``got + low`` from the truth, in ulps of the truth."""
        size = np.abs([float(t) for t in truth])
        # nextafter: a truth just below a power of two has the smaller spacing.
        spacing = np.spacing(np.nextafter(size, 0.0)).tolist()
        lows = repeat(0.0) if low is None else np.ravel(low).tolist()
        error = [
            float((t - g - part).abs_upper() / ulp)
            for t, g, part, ulp in zip(truth, np.ravel(got).tolist(), lows, spacing, strict=False)
        ]
        assert len(error) == np.size(got) == len(truth)
        return np.array(error)

    def rounded_once(self, truth: arb) -> float:
        """The float64 nearest to a real number: both ends of its ball round to it."""
        ends = []
        for end in (truth.lower(), truth.upper()):
            digits, exponent = end.man_exp()
            # Python rounds a fraction correctly, a subnormal too.
            ends.append(float(Fraction(int(digits)) * Fraction(2) ** int(exponent)))
        assert ends[0] == ends[1], "not enough bits to tell"
        return ends[0]

    def error(self, got: float, truth: arb, low: float = 0.0) -> float:
        """Largest possible absolute distance of ``got + low`` from the truth."""
        return float((truth - float(got) - float(low)).abs_upper())

    def convergents(self, x: arb, below: int, count: int = 3) -> list[int]:
        """The last `count` denominators below a limit of the continued fraction of x > 0."""
        rest = Fraction(int((x.mid() * arb(2) ** 280).floor().unique_fmpz()), 2**280)
        before, denominator, found = 1, 0, []
        while True:
            whole = rest.numerator // rest.denominator
            before, denominator = denominator, whole * denominator + before
            if denominator >= below:
                return found[-count:]
            found.append(denominator)
            if rest == whole:
                return found[-count:]
            rest = 1 / (rest - whole)


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """Arb's answers."""
    return Oracle()


@pytest.fixture(scope="session")
def printed() -> Callable[[str], object]:
    """A number as it was printed: equal to whatever rounds to these digits."""

    def number(text: str) -> object:
        unit = Decimal(text).as_tuple().exponent
        return pytest.approx(float(text), rel=0, abs=float(Decimal(5).scaleb(unit - 1)))

    return number


@pytest.fixture(scope="session")
def phases() -> Callable[..., list[float]]:
    """A_i, position times theta, of each pair of a RoPE, from one number on each position axis."""

    def of(rope: object, *position: float) -> list[float]:
        return [position[axis] * w for axis, w in zip(rope.pair_axes, rope.theta(), strict=True)]

    return of


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    # A phase of 2**53 loses 53 of these bits, a result near 0 about as many again.
    with ctx.workprec(320):
        yield
