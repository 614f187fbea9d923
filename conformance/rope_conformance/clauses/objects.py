"""What an object lives through: copies, saving, casts, its neighbours, the meta device, a compiler.

An object is what a factory made, or a callable with a state. It is mostly compared with
itself: other clauses judge whether it is right.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

from rope_conformance.accuracy.residual import Judgement, judge
from rope_conformance.clauses._frameworks import (
    autocast,
    compiled,
    default_type,
    load_state,
    there_and_back,
    through_meta,
    under_autocast,
)
from rope_conformance.clauses._frameworks import cast as cast_to
from rope_conformance.clauses._objects import (
    agree,
    demand,
    done,
    fresh,
    in_ways,
    judged,
    moved,
    others,
    own_copy,
    rotate,
    same,
    stations,
)
from rope_conformance.clauses._openers import factory_only
from rope_conformance.clauses._survival import (
    can_be_cast,
    can_be_compiled,
    can_be_copied,
    can_be_saved,
    claimed,
    in_torch,
    ways_to_save,
)
from rope_conformance.inputs.cases import Case
from rope_conformance.inputs.spec_variants import with_base
from rope_conformance.judging.clause import EITHER, clause
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.implementation import Implementation, Unsupported
from rope_conformance.target.rule_parts import base_below
from rope_ref import RopeSpec

_LOST, _MADE = 4, 32  # objects deleted, and most that are made until one gets such an id


@clause(
    id="objects.copy",
    sentence="A deep copy, made before or after use, rotates like the original and shares nothing.",
    formula=r"\mathrm{copy}(f)(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
    opened_by=can_be_copied,
    any_map=True,
    fixed=lambda context: in_ways(context, 1),
)
def copies(context: CheckContext, case: Case) -> None:
    """Copy before and after use; then use one elsewhere and look at the other."""
    original = fresh(context)
    early = copy.deepcopy(original)
    before = rotate(context, original, case)
    result = context.arrays.last_result  # the framework's array, not a copy
    late = done("a deep copy of the used object", lambda: copy.deepcopy(original))
    for when, other in (("before", early), ("after", late)):
        which = f"a deep copy made {when} use"
        same(before, rotate(context, other, case), f"{which} does not rotate like the original")
        rotate(context, other, replace(case, seed=case.seed + 77))
        kept = context.arrays.from_claimed_axes(context.namespace.host(result), before.shape)
        same(before, kept, f"a result of the original was overwritten by {which}", "aliasing")
        for there in others(context, case):
            got = rotate(context, other, there)
            again = rotate(context, original, case)
            agree(context, case, before, again, f"using {which} changed the original", "aliasing")
            want = rotate(context, original, there)
            agree(context, there, want, got, f"{which} differs from the original later on", "cache")
            again = rotate(context, other, case)
            agree(context, case, before, again, f"using the original changed {which}", "aliasing")


@clause(
    id="objects.save",
    sentence="What was saved and loaded, before or after use, rotates like the original.",
    formula=r"\mathrm{load}(\mathrm{save}(f))(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="other",
    surface=EITHER,
    opened_by=can_be_saved,
    any_map=True,
    fixed=lambda context: in_ways(context, 2 * len(ways_to_save(context))),
)
def save(context: CheckContext, case: Case) -> None:
    """Save and load, in way number `parameter` // 2, with odd ones after use."""
    way, used = ways_to_save(context)[case.parameter // 2], bool(case.parameter % 2)
    original = fresh(context)
    if used:
        for each in (*others(context, case), case):
            rotate(context, original, each)
    when = f"{'after' if used else 'before'} use by {way}"
    loaded = done(f"saving {when} and loading", lambda: _loaded(context, original, way))
    want, got = rotate(context, original, case), rotate(context, loaded, case)
    words = f"what was saved {when} and loaded does not rotate like the original"
    if used:  # a table that is made anew may be of another length, and differ in the last bit
        agree(context, case, want, got, words, "other")
    else:
        same(want, got, words)
    for there in others(context, case):
        want, got = rotate(context, original, there), rotate(context, loaded, there)
        agree(context, there, want, got, f"{words} later on", "other")


def _loaded(context: CheckContext, made: Any, way: str) -> Any:
    return pickle.loads(pickle.dumps(made)) if way == "pickle" else load_state(fresh(context), made)


@clause(
    id="objects.cast",
    sentence=(
        "A cast of an object to half precision rounds nothing that its profile holds wider, and "
        "touches no other object."
    ),
    formula=r"\mathrm{cast}(f)(x, p) = f(x, p) \text{ within the profile}",
    reference="rope_ref.definition:theta",
    fault="angle-precision",
    surface=EITHER,
    opened_by=can_be_cast,
    fixed=lambda context: in_ways(context, 2),
    minimum=50,
    numeric=True,
)
def cast(context: CheckContext, case: Case) -> None:
    """Cast a new object, or with an odd `parameter` a used one, and judge what it does then."""
    used = bool(case.parameter % 2)
    neighbour, made = fresh(context), own_copy(context)
    before = rotate(context, neighbour, case)
    if used:
        rotate(
            context, made, case, "float32" if "float32" in context.claim.dtypes else context.dtype
        )
    made = cast_to(context, made, context.dtype)
    words = f"cast to {context.dtype} {'after' if used else 'before'} use, it rotates wrongly"
    for each in (case, *others(context, case), case):
        judgement = judged(context, each, rotate(context, made, each))
        demand(context, judgement, words, "angle-precision")
    for whose, other in (("an earlier", neighbour), ("a later", fresh(context))):
        after = rotate(context, other, case)
        agree(context, case, before, after, f"a cast changed {whose} object", "angle-precision")
    if "float32" in context.claim.dtypes:
        there_and_back(context, stations(context)[-1])


@clause(
    id="objects.apart",
    sentence="What a factory makes shares nothing: making, using or losing one changes no other.",
    formula=r"f_s(x, p) \text{ does not depend on } f_{s'}",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
    opened_by=factory_only,
    fixed=lambda context: in_ways(context, 2),
)
def apart(context: CheckContext, case: Case) -> None:
    """Make, use and delete others: of the same spec, or with an odd `parameter` of another base."""
    spec, which = context.spec, "another object of the same spec"
    if case.parameter % 2:
        base = base_below(spec.frequencies)
        assert base is not None
        spec = replace(spec, frequencies=with_base(spec.frequencies, base * 3))
        which = "an object of another base"
    try:
        context.implementation.remade(spec)
    except Unsupported as reason:
        context.evidence.notes.append(f"{spec.frequencies} unsupported: {reason}")
        return
    own = fresh(context)
    before = rotate(context, own, case)
    right = bool((judged(context, case, before).ratio <= 1).all())
    other = context.implementation.remade(spec).made
    agree(context, case, before, rotate(context, own, case), f"changed when {which} was made")
    for each in (case, *others(context, case)):
        of_other = _rotate_other(context, spec, other, each)
        if right and each == case:
            demand(context, of_other, f"{which} is wrong beside the first", "cache")
        words = f"changed when {which} was used"
        agree(context, case, before, rotate(context, own, case), words, "aliasing")
    del other, own
    if case != replace(stations(context)[0], parameter=case.parameter):
        return  # an object used at far positions may be large
    # Memory that is freed is soon given to a new object, and with it the id of the old one.
    lost = [context.implementation.remade(spec).made for _ in range(_LOST)]
    ids = {id(one) for one in lost}
    for one in lost:
        after = _rotate_other(context, spec, one, case)
        if right:
            words = f"{which} is wrong when made after others were lost"
            demand(context, after, words, "cache")
    del lost, one
    new = [fresh(context)]
    while id(new[-1]) not in ids and len(new) < _MADE:
        new.append(fresh(context))
    words = f"wrong when made after {which} was lost"
    agree(context, case, before, rotate(context, new[-1], case), words)


def _rotate_other(context: CheckContext, spec: RopeSpec, made: Any, case: Case) -> Judgement:
    """Use an object of another spec of the same widths, and judge it by that."""
    other = context.beside(Implementation(made, spec, context.claim))
    x, positions = other.x(case), other.positions(case)
    y = other.arrays.apply(x, positions)
    context.implementation.calls += other.implementation.calls
    return judge(y, x, positions, spec, context.dtype, context.profile)


# What each number of `parameter` means for the ambient types.
_DEFAULTS = ("bfloat16", "float16", "float64")
_MADE_UNDER_AUTOCAST, _CALLED_UNDER_AUTOCAST = len(_DEFAULTS), len(_DEFAULTS) + 1


@clause(
    id="objects.ambient",
    sentence=(
        "Frequencies and phases do not depend on the default type or autocast under which an "
        "object is made, nor on autocast when it is called."
    ),
    formula=r"\theta_i,\ p\,\theta_i \text{ as without}",
    reference="rope_ref.definition:theta",
    fault="angle-precision",
    surface=EITHER,
    opened_by=in_torch,
    fixed=lambda context: in_ways(
        context, len(_DEFAULTS) + (2 if context.dtype == "float32" else 0)
    ),
    minimum=50,
    numeric=True,
)
def ambient(context: CheckContext, case: Case) -> None:
    """Make it under default type number `parameter`, or make or call it under autocast."""
    if case.parameter == _CALLED_UNDER_AUTOCAST:
        y = rotate(context, under_autocast(context, fresh(context)), case)
        # Table and products may be of autocast's type, phases may not.
        profile = replace(context.profile, output_roundings=3, wide_products=False)
        judgement = judged(context, case, y, "bfloat16", profile)
        demand(
            context, judgement, "called under autocast its phases are rounded", "angle-precision"
        )
        return
    before = rotate(context, fresh(context), case)
    if case.parameter == _MADE_UNDER_AUTOCAST:
        where, words = autocast(context.device), "autocast"
    else:
        name = _DEFAULTS[case.parameter]
        where, words = default_type(name), f"the default type {name}"
    with where:
        made = done(f"making it under {words}", lambda: fresh(context))
    after = rotate(context, made, case)
    agree(
        context, case, before, after, f"made under {words} it rotates otherwise", "angle-precision"
    )


@clause(
    id="objects.meta",
    sentence="Made on the meta device, given memory, reset and loaded, it rotates as if just made.",
    formula=r"\mathrm{load}(\mathrm{meta}(f))(x, p) = f(x, p)",
    reference="rope_ref.definition:theta",
    fault="other",
    surface=EITHER,
    opened_by=lambda context: in_torch(context) or claimed("meta", context),
    fixed=lambda context: in_ways(context, 2),
    minimum=50,
    numeric=True,
)
def meta(context: CheckContext, case: Case) -> None:
    """Fill the empty memory with 0.5, or with an odd `parameter` with NaN, then load."""
    garbage = (0.5, float("nan"))[case.parameter]
    made = done(
        "making it on the meta device and loading it",
        lambda: through_meta(lambda: fresh(context), context.device, garbage),
    )
    want = rotate(context, fresh(context), case)
    got = rotate(context, made, case)
    agree(context, case, want, got, "made on the meta device and loaded, it is wrong", "other")


@clause(
    id="objects.compile",
    sentence="Compiled it rotates as it does eagerly, whatever the shape and the positions.",
    formula=r"\mathrm{compile}(f)(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="compile",
    surface=EITHER,
    opened_by=can_be_compiled,
    fixed=lambda context: stations(context)[:1],
    minimum=50,
    numeric=True,
)
def compile_(context: CheckContext, case: Case) -> None:
    """One program at two sets of positions of one shape, then at another shape."""
    eager, program = fresh(context), compiled(context, fresh(context))
    # No axis of length 1, for which compilers make another program.
    small = context.cut(
        replace(case, tokens=min(4, case.tokens), heads=8, positions=case.positions[:4])
    )
    for each, what in (
        (case, "at the positions it was compiled with"),
        (moved(context, case), "at positions of a later call"),
        (moved(context, small), "at another shape"),
        (case, "once other shapes were compiled"),
    ):
        want, got = rotate(context, eager, each), rotate(context, program, each)
        agree(context, each, want, got, f"compiled and eager differ {what}", "compile")
