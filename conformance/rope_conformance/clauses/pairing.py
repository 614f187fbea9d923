"""Which channels form a pair, where they are written, and which way they turn."""

from rope_conformance.describing.words import layout_in_words
from rope_conformance.identification.conventions import read_map, visible_pairs
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure
from rope_conformance.judging.probes import probe_position


def _something_turns(context: CheckContext) -> str | None:
    if visible_pairs(context.spec, probe_position(context)):
        return None
    return "no pair turns by a part of a half turn at the claimed positions"


def _one_position(context: CheckContext) -> list[Case]:
    """The position to read the map at, as the last one of the case."""
    position = probe_position(context)
    start = position if context.claim.position_forms != ("none",) else 0
    return [Case(1, position - start + 1, 1, range(start, position + 1), values="one-hot")]


@clause(
    id="pairing.layout",
    sentence=(
        "Pair i is channels (2i, 2i+1) of the rotating channels in the interleaved layout and "
        "(i, i+R/2) in the half layout; a unit vector on one channel of a pair comes out on the "
        "channels of that pair and on no other."
    ),
    formula=r"\text{interleaved: } (2i,\, 2i+1) \qquad \text{half: } (i,\, i + R/2)",
    reference="rope_ref.definition:pair",
    fault="layout",
    surface=EITHER,
    opened_by=_something_turns,
    fixed=_one_position,
)
def layout(context: CheckContext, case: Case) -> None:
    """Read the pairs from unit vectors; where they are written, `pairing.output_layout` judges."""
    position = case.positions[-1]
    reading = read_map(context, position)
    spec = context.spec
    for pair, channels, _ in visible_pairs(spec, position):
        first, second = (reading.reaches[j] for j in channels)
        if first != second or len(first) != 2:
            raise CheckFailure(
                f"{reading.in_words(spec, position)}; claimed "
                f"{layout_in_words(spec.layout, spec)} (pair {pair} should be channels "
                f"{channels[0]} and {channels[1]})"
            )


@clause(
    id="pairing.output_layout",
    sentence="Pair i is written where the output layout says; if none is named, where it was read.",
    formula=r"y_{\mathrm{out}(i)} = R(p\,\theta_i)\, x_{\mathrm{in}(i)}",
    reference="rope_ref.definition:pair",
    fault="layout",
    surface=EITHER,
    opened_by=_something_turns,
    fixed=_one_position,
)
def output_layout(context: CheckContext, case: Case) -> None:
    """Read from unit vectors where each pair is written."""
    position = case.positions[-1]
    reading = read_map(context, position)
    for pair, channels, written in visible_pairs(context.spec, position):
        reached = {row for j in channels for row in reading.reaches[j]}
        if reached != set(written):
            raise CheckFailure(
                f"{reading.in_words(context.spec, position)}; claimed output "
                f"{layout_in_words(context.spec.output_layout, context.spec)} (pair {pair} should "
                f"come out on channels {written[0]} and {written[1]}, came out on "
                f"{sorted(reached)})"
            )


@clause(
    id="pairing.direction",
    sentence=(
        "A positive phase turns a pair counter-clockwise, from its first channel towards its "
        "second; direction -1 turns it the other way."
    ),
    formula=r"(u, v) \mapsto (u \cos\varphi - v \sin\varphi,\; u \sin\varphi + v \cos\varphi)",
    reference="rope_ref.definition:rotate",
    fault="sign",
    surface=EITHER,
    opened_by=_something_turns,
    fixed=_one_position,
)
def direction(context: CheckContext, case: Case) -> None:
    """Read from unit vectors which way each pair turns."""
    position = case.positions[-1]
    reading = read_map(context, position)
    spec = context.spec
    found = reading.direction(spec, position)
    words = {
        1: "counter-clockwise",
        -1: "clockwise",
        0: "some one way, some the other, or not at all",
    }
    # The reading is made against the claimed direction's sine.
    if found != spec.direction:
        raise CheckFailure(
            f"pairs turn {words[found]}, claimed {words[spec.direction]}"
            + ("; the sign of sin is flipped" if found == -spec.direction else "")
        )
