"""What an object lives through: copies, saving, casts, its neighbours, the meta device, a compiler.

An object is what a factory made, or a callable with a state. It is mostly compared with
itself, so that what is wrong with it anyhow is said by other clauses.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from rope_conformance.accuracy import Judgement, judge
from rope_conformance.clauses._common import factory_only
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
from rope_conformance.clauses._survival import (
    can_be_cast,
    can_be_compiled,
    can_be_copied,
    can_be_saved,
    claimed,
    in_torch,
    ways_to_save,
)
from rope_conformance.implementation import Implementation, Unsupported
from rope_conformance.inputs import Case
from rope_conformance.registry import EITHER, Clause
from rope_conformance.rules import base_below, with_base
from rope_conformance.trial import Trial
from rope_ref import RopeSpec

Array = npt.NDArray[Any]

_LOST, _MADE = 4, 32  # objects lost, and made until one has the id of one of those


COPY = Clause(
    id="objects.copy",
    sentence="A deep copy, made before or after use, rotates like the original and shares nothing.",
    formula=r"\mathrm{copy}(f)(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
    opened_by=can_be_copied,
    any_map=True,
)

SAVE = Clause(
    id="objects.save",
    sentence="What was saved and loaded, before or after use, rotates like the original.",
    formula=r"\mathrm{load}(\mathrm{save}(f))(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="other",
    surface=EITHER,
    opened_by=can_be_saved,
    any_map=True,
)

CAST = Clause(
    id="objects.cast",
    sentence=(
        "A cast of an object to half precision rounds nothing that its profile holds wider, and "
        "touches no other object."
    ),
    formula=r"\mathrm{cast}(f)(x, p) = f(x, p) \text{ within the profile}",
    reference="rope_ref.spec:RopeSpec.theta",
    fault="angle-precision",
    surface=EITHER,
    opened_by=can_be_cast,
)

APART = Clause(
    id="objects.apart",
    sentence="What a factory makes shares nothing: making, using or losing one changes no other.",
    formula=r"f_s(x, p) \text{ does not depend on } f_{s'}",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface=EITHER,
    opened_by=factory_only,
)

AMBIENT = Clause(
    id="objects.ambient",
    sentence=(
        "Frequencies and phases do not depend on the default type or autocast under which an "
        "object is made, nor on autocast when it is called."
    ),
    formula=r"\theta_i,\ p\,\theta_i \text{ as without}",
    reference="rope_ref.spec:RopeSpec.theta",
    fault="angle-precision",
    surface=EITHER,
    opened_by=in_torch,
)

META = Clause(
    id="objects.meta",
    sentence="Made on the meta device, given memory, reset and loaded, it rotates as if just made.",
    formula=r"\mathrm{load}(\mathrm{meta}(f))(x, p) = f(x, p)",
    reference="rope_ref.spec:RopeSpec.theta",
    fault="other",
    surface=EITHER,
    opened_by=lambda trial: in_torch(trial) or claimed("meta", trial),
)

COMPILE = Clause(
    id="objects.compile",
    sentence="Compiled it rotates as it does eagerly, whatever the shape and the positions.",
    formula=r"\mathrm{compile}(f)(x, p) = f(x, p)",
    reference="rope_ref.rotation:apply_rope",
    fault="compile",
    surface=EITHER,
    opened_by=can_be_compiled,
)


@COPY.check(
    fixed=lambda trial: in_ways(trial, 1),
    kills=[
        "copy_loses_table",
        "copy_shares_cache",
        "memo_filled_when_made",
    ],
)
def copies(trial: Trial, case: Case) -> None:
    """Copy before and after use; then use one elsewhere and look at the other."""
    original = fresh(trial)
    early = copy.deepcopy(original)
    before = rotate(trial, original, case)
    result = trial.last_result  # itself, not what was read of it
    late = done("a deep copy of the used object", lambda: copy.deepcopy(original))
    for when, other in (("before", early), ("after", late)):
        which = f"a deep copy made {when} use"
        same(before, rotate(trial, other, case), f"{which} does not rotate like the original")
        rotate(trial, other, replace(case, seed=case.seed + 77))
        kept = trial.from_claimed_axes(trial.namespace.host(result), before.shape)
        same(before, kept, f"a result of the original was overwritten by {which}", "aliasing")
        for there in others(trial, case):
            got = rotate(trial, other, there)
            again = rotate(trial, original, case)
            agree(trial, case, before, again, f"using {which} changed the original", "aliasing")
            want = rotate(trial, original, there)
            agree(trial, there, want, got, f"{which} differs from the original later on", "cache")
            again = rotate(trial, other, case)
            agree(trial, case, before, again, f"using the original changed {which}", "aliasing")


@SAVE.check(
    fixed=lambda trial: in_ways(trial, 2 * len(ways_to_save(trial))),
    kills=[
        "pickle_drops_table",
        "loads_flag_without_table",
        "table_not_in_state",
        "table_outgrows_state",
    ],
)
def save(trial: Trial, case: Case) -> None:
    """Save and load, in way number `parameter` // 2, with odd ones after use."""
    way, used = ways_to_save(trial)[case.parameter // 2], bool(case.parameter % 2)
    original = fresh(trial)
    if used:
        for each in (*others(trial, case), case):
            rotate(trial, original, each)
    when = f"{'after' if used else 'before'} use by {way}"
    loaded = done(f"saving {when} and loading", lambda: _loaded(trial, original, way))
    want, got = rotate(trial, original, case), rotate(trial, loaded, case)
    words = f"what was saved {when} and loaded does not rotate like the original"
    if used:  # a table that is made anew may be of another length, and differ in the last bit
        agree(trial, case, want, got, words, "other")
    else:
        same(want, got, words)
    for there in others(trial, case):
        want, got = rotate(trial, original, there), rotate(trial, loaded, there)
        agree(trial, there, want, got, f"{words} later on", "other")


def _loaded(trial: Trial, made: Any, way: str) -> Any:
    return pickle.loads(pickle.dumps(made)) if way == "pickle" else load_state(fresh(trial), made)


@CAST.check(
    fixed=lambda trial: in_ways(trial, 2),
    kills=[
        "cast_rounds_theta",
        "cast_rounds_table",
        "cast_rounds_later_rows",
        "buffer_cast_with_model",
        "buffer_cast_beyond_first_table",
    ],
    minimum=50,
    numeric=True,
)
def cast(trial: Trial, case: Case) -> None:
    """Cast a new object, or with an odd `parameter` a used one, and judge what it does then."""
    used = bool(case.parameter % 2)
    neighbour, made = fresh(trial), own_copy(trial)
    before = rotate(trial, neighbour, case)
    if used:
        rotate(trial, made, case, "float32" if "float32" in trial.claim.dtypes else trial.dtype)
    made = cast_to(trial, made, trial.dtype)
    words = f"cast to {trial.dtype} {'after' if used else 'before'} use, it rotates wrongly"
    for each in (case, *others(trial, case), case):
        judgement = judged(trial, each, rotate(trial, made, each))
        demand(trial, judgement, words, "angle-precision")
    for whose, other in (("an earlier", neighbour), ("a later", fresh(trial))):
        after = rotate(trial, other, case)
        agree(trial, case, before, after, f"a cast changed {whose} object", "angle-precision")
    if "float32" in trial.claim.dtypes:
        there_and_back(trial, stations(trial)[-1])


@APART.check(
    fixed=lambda trial: in_ways(trial, 2),
    kills=[
        "remembers_last_made",
        "one_table_for_all",
    ],
)
def apart(trial: Trial, case: Case) -> None:
    """Make, use and lose others: of the same spec, or with an odd `parameter` of another base."""
    spec, which = trial.spec, "another object of the same spec"
    if case.parameter % 2:
        base = base_below(spec.frequencies)
        assert base is not None
        spec = replace(spec, frequencies=with_base(spec.frequencies, base * 3))
        which = "an object of another base"
    try:
        trial.implementation.remade(spec)
    except Unsupported as reason:
        trial.notes.append(f"{spec.frequencies} unsupported: {reason}")
        return
    own = fresh(trial)
    before = rotate(trial, own, case)
    right = bool((judged(trial, case, before).ratio <= 1).all())
    other = trial.implementation.remade(spec).made
    agree(trial, case, before, rotate(trial, own, case), f"changed when {which} was made")
    for each in (case, *others(trial, case)):
        of_other = _rotate_other(trial, spec, other, each)
        if right and each == case:
            demand(trial, of_other, f"{which} is wrong beside the first", "cache")
        words = f"changed when {which} was used"
        agree(trial, case, before, rotate(trial, own, case), words, "aliasing")
    del other, own
    if case != replace(stations(trial)[0], parameter=case.parameter):
        return  # objects used far away may be large
    # Memory that is freed is soon given to a new object, and with it the id of the old one.
    lost = [trial.implementation.remade(spec).made for _ in range(_LOST)]
    ids = {id(one) for one in lost}
    for one in lost:
        after = _rotate_other(trial, spec, one, case)
        if right:
            words = f"{which} is wrong when made after others were lost"
            demand(trial, after, words, "cache")
    del lost, one
    new = [fresh(trial)]
    while id(new[-1]) not in ids and len(new) < _MADE:
        new.append(fresh(trial))
    words = f"wrong when made after {which} was lost"
    agree(trial, case, before, rotate(trial, new[-1], case), words)


def _rotate_other(trial: Trial, spec: RopeSpec, made: Any, case: Case) -> Judgement:
    """Use an object of another spec of the same widths, and judge it by that."""
    other = trial.beside(Implementation(made, spec, trial.claim))
    x, positions = other.x(case), other.positions(case)
    y = other.apply(x, positions)
    trial.implementation.calls += other.implementation.calls
    return judge(y, x, positions, spec, trial.dtype, trial.profile)


# What each number of `parameter` means for the ambient types.
_DEFAULTS = ("bfloat16", "float16", "float64")
_MADE_UNDER_AUTOCAST, _CALLED_UNDER_AUTOCAST = len(_DEFAULTS), len(_DEFAULTS) + 1


@AMBIENT.check(
    fixed=lambda trial: in_ways(trial, len(_DEFAULTS) + (2 if trial.dtype == "float32" else 0)),
    kills=[
        "frequencies_in_default_type",
        "table_in_default_type",
        "frequencies_under_autocast",
        "phases_under_autocast",
    ],
    minimum=50,
    numeric=True,
)
def ambient(trial: Trial, case: Case) -> None:
    """Make it under default type number `parameter`, or make or call it under autocast."""
    if case.parameter == _CALLED_UNDER_AUTOCAST:
        y = rotate(trial, under_autocast(trial, fresh(trial)), case)
        # Table and products may be of autocast's type, phases may not.
        profile = replace(trial.profile, output_roundings=3, wide_products=False)
        judgement = judged(trial, case, y, "bfloat16", profile)
        demand(trial, judgement, "called under autocast its phases are rounded", "angle-precision")
        return
    before = rotate(trial, fresh(trial), case)
    if case.parameter == _MADE_UNDER_AUTOCAST:
        where, words = autocast(trial.device), "autocast"
    else:
        name = _DEFAULTS[case.parameter]
        where, words = default_type(name), f"the default type {name}"
    with where:
        made = done(f"making it under {words}", lambda: fresh(trial))
    after = rotate(trial, made, case)
    agree(trial, case, before, after, f"made under {words} it rotates otherwise", "angle-precision")


@META.check(
    fixed=lambda trial: in_ways(trial, 2),
    kills=[
        "lost_on_meta",
        "amplitude_lost_on_meta",
    ],
    minimum=50,
    numeric=True,
)
def meta(trial: Trial, case: Case) -> None:
    """Empty memory is full of 0.5, or with an odd `parameter` of NaN: no luck helps."""
    garbage = (0.5, float("nan"))[case.parameter]
    made = done(
        "making it on the meta device and loading it",
        lambda: through_meta(lambda: fresh(trial), trial.device, garbage),
    )
    want = rotate(trial, fresh(trial), case)
    got = rotate(trial, made, case)
    agree(trial, case, want, got, "made on the meta device and loaded, it is wrong", "other")


@COMPILE.check(
    fixed=lambda trial: stations(trial)[:1],
    kills=[
        "compiled_shifts_table",
        "compiled_freezes_positions",
        "compiled_shifts_sine",
    ],
    minimum=50,
    numeric=True,
)
def compile_(trial: Trial, case: Case) -> None:
    """One program at two sets of positions of one shape, then at another shape."""
    eager, program = fresh(trial), compiled(trial, fresh(trial))
    # No length of 1, for which compilers make programs of their own.
    small = trial.cut(
        replace(case, tokens=min(4, case.tokens), heads=8, positions=case.positions[:4])
    )
    for each, what in (
        (case, "at the positions it was compiled with"),
        (moved(trial, case), "at positions of a later call"),
        (moved(trial, small), "at another shape"),
        (case, "once other shapes were compiled"),
    ):
        want, got = rotate(trial, eager, each), rotate(trial, program, each)
        agree(trial, each, want, got, f"compiled and eager differ {what}", "compile")
