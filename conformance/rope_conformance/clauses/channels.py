"""Maps declared to be no rotations: each channel is judged by the RoPE that gives it."""

from rope_conformance.clauses._common import far_fixed, numeric_cases, oracle
from rope_conformance.inputs import Case
from rope_conformance.registry import Clause
from rope_conformance.trial import Trial

VALUES = Clause(
    id="channels.values",
    sentence=(
        "Of a map that is declared to be no rotation, the first channel of each pair is that of "
        "one RoPE and the second that of another, as the declaration says."
    ),
    formula=r"y_u = u\cos\alpha - v\sin\alpha,\quad y_v = u\sin\beta + v\cos\beta",
    reference="rope_ref.channel_tables:apply_channel_ropes",
    fault="other",
    opened_by=lambda trial: (
        "claimed to be a rotation" if trial.claim.second_channels is None else None
    ),
    any_map=True,
)


@VALUES.check(
    fixed=far_fixed,
    generated=numeric_cases,
    kills=[
        "rotation_for_crossed",
        "crossed_through_all_blocks",
        "channels_exchanged",
        "crossed_with_another_base",
    ],
    minimum=50,
    numeric=True,
)
def values(trial: Trial, case: Case) -> None:
    """Compare with the declared definition."""
    oracle(trial, case, "not the declared map")
