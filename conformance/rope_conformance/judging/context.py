"""What one check works with: an implementation, a dtype, a profile, and the evidence so far."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import numpy as np

from rope_conformance.accuracy.profiles import Profile, profile_named
from rope_conformance.accuracy.residual import Judgement, judge
from rope_conformance.accuracy.two_angle import judge_two_angles
from rope_conformance.inputs.cases import Case, Input
from rope_conformance.inputs.position_axes import followed, on_each_axis
from rope_conformance.judging.array_adapter import ArrayAdapter
from rope_conformance.judging.evidence import Evidence
from rope_conformance.judging.failures import CheckFailure, Spot
from rope_conformance.judging.listening import tell
from rope_conformance.target.claim import Claim
from rope_conformance.target.frameworks import Array, namespace
from rope_conformance.target.implementation import Implementation
from rope_ref import RopeSpec, pair_channels

__all__ = ["CheckContext", "default_profile", "undisturbed"]


class CheckContext:
    """What a check is given: an implementation, and how it is judged.

    Parameters
    ----------
    implementation
        What is under test.
    dtype
        The type of its data.
    profile
        The accuracy it is held to; the claimed one if left out.
    device
        Where the data are; the first claimed device if left out.

    Attributes
    ----------
    arrays
        Calls the implementation with NumPy arrays.
    evidence
        What the check has seen.
    """

    def __init__(
        self,
        implementation: Implementation,
        dtype: str,
        profile: Profile | None = None,
        device: str | None = None,
    ) -> None:
        self.implementation = implementation
        self.spec = implementation.spec
        self.claim = implementation.claim
        self.namespace = namespace(self.claim.namespace)
        self.dtype = dtype
        self.device = device or self.claim.devices[0]
        self.profile = profile or default_profile(self.claim, dtype)
        self.arrays = ArrayAdapter(implementation, dtype, self.device)
        self.evidence = Evidence()

    def begin(self, case: Input) -> None:
        """Count an input that a check is about to see."""
        self.evidence.inputs += 1
        tell({"case": repr(case)})

    def beside(self, implementation: Implementation) -> CheckContext:
        """A context for another object of the same dtype, profile and device.

        It counts evidence of its own; see `absorb`.
        """
        return CheckContext(implementation, self.dtype, self.profile, device=self.device)

    def anew(self, spec: RopeSpec | None = None) -> CheckContext:
        """A context for the target made once more, for another spec if one is given.

        Raises
        ------
        Unsupported
            If the target does not do that spec.
        TargetError
            If making it raised.
        """
        return self.beside(self.implementation.remade(spec or self.spec))

    def absorb(self, other: CheckContext) -> None:
        """Add the calls and the evidence of another context to this one's."""
        if other.implementation is not self.implementation:
            self.implementation.calls += other.implementation.calls
        self.evidence.absorb(other.evidence)
        self.arrays.outputs |= other.arrays.outputs

    def x(self, case: Case) -> Array:
        """The data of a case in the type under test."""
        return case.x(self.spec.head_dim, self.dtype)

    def positions(self, case: Case) -> Array:
        """The positions of a case; with a leading axis where the spec has several.

        Where the framework has no 64-bit types, fractions are rounded to float32 here, so that
        implementation and reference get the same numbers.
        """
        p = on_each_axis(case.position_array(), self.spec, self.claim)
        if p.dtype.kind == "f" and not self.namespace.wide:
            return p.astype(np.float32).astype(np.float64)
        return p

    def cut(self, case: Case) -> Case:
        """A case with one row, or one head, where the claimed axes have no such axis."""
        return case.cut(self.claim.axes)

    def judge(self, y: Array, x: Array, positions: Array) -> Judgement:
        """Compare an output with the reference, and count the evidence.

        Parameters
        ----------
        y, x
            Output and input, of shape (B, T, H, D).
        positions
            As given by `positions`.

        Returns
        -------
        judgement
            The ratio of error to bound for each pair.
        """
        second = self.claim.second_channels
        if second is None:
            judgement = judge(y, x, positions, self.spec, self.dtype, self.profile)
            self.evidence.meter.add(judgement, self.spec)
        else:
            specs = (self.spec, second)
            *halves, judgement = judge_two_angles(y, x, positions, specs, self.dtype, self.profile)
            for half, spec in zip(halves, specs, strict=True):
                self.evidence.meter.add(half, spec)
        self.evidence.count(judgement)
        return judgement

    def demand(self, judgement: Judgement, message: str) -> None:
        """Demand that no ratio of a judgement exceeds 1.

        Raises
        ------
        CheckFailure
            If one does, or is NaN; it names the bad pair at the smallest position.
        """
        ratio = judgement.ratio
        bad = ~(ratio <= 1)
        if not bad.any():
            return
        # The smallest position, then the first pair: the easiest one to look into.
        where = np.argwhere(bad)
        p = np.broadcast_to(judgement.positions, ratio.shape)
        order = np.lexsort((where[:, 3], np.abs(p[bad])))
        row, token, head, pair = (int(n) for n in where[order[0]])
        first, second = pair_channels(self.spec, output=True)[:, pair]
        got, want = judgement.got[row, token, head], judgement.want[row, token, head]
        channel = int(max((first, second), key=lambda c: _difference(got[c], want[c])))
        spot = Spot(
            position=float(p[row, token, head, pair]),
            row=row,
            token=token,
            head=head,
            pair=pair,
            channel=channel,
            got=float(got[channel]),
            want=float(want[channel]),
            ratio=float(ratio[row, token, head, pair]),
            # With second channels, the two channels of a pair may follow different axes.
            **(
                {} if self.claim.second_channels else followed(p[row, token, head], pair, self.spec)
            ),
        )
        raise CheckFailure(message, spot)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Compute without warnings, whatever NumPy's error state and the warning filters are.

    Outputs may hold infinities and NaN: they are judged, not warned of. The caller, or the
    implementation when it was imported, may have set another error state.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def default_profile(claim: Claim, dtype: str) -> Profile:
    """Return the profile claimed for a dtype, or the default where none is claimed."""
    return profile_named(claim.profile or ("float64" if dtype == "float64" else "float32"))


def _difference(got: float, want: float) -> float:
    difference = abs(got - want)
    return float(np.inf) if np.isnan(difference) else float(difference)
