"""Maps declared to be no rotations: each channel is judged by the RoPE that gives it."""

from rope_conformance.inputs.cases import Case
from rope_conformance.judging.clause import clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.probes import far_fixed, numeric_cases, oracle


@clause(
    id="channels.values",
    sentence=(
        "Of a map that is declared to be no rotation, the first channel of each pair is that of "
        "one RoPE and the second that of another, as the declaration says."
    ),
    formula=r"y_u = u\cos\alpha - v\sin\alpha,\quad y_v = u\sin\beta + v\cos\beta",
    reference="rope_ref.extensions.channel_tables:apply_channel_ropes",
    fault="other",
    opened_by=lambda context: (
        "claimed to be a rotation" if context.claim.second_channels is None else None
    ),
    any_map=True,
    fixed=far_fixed,
    generated=numeric_cases,
    minimum=50,
    numeric=True,
)
def values(context: CheckContext, case: Case) -> None:
    """Compare with the declared definition."""
    oracle(context, case, "not the declared map")
