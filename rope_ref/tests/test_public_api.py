"""The public names, their descriptions, and values that stay what they are."""

import dataclasses
import inspect
import re
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

import rope_ref as rr
from rope_ref import errors

ROOMS = {"definition", "errors", "extensions", "models", "positions", "scaling"}
FAMILIES = (rr, rr.scaling, rr.positions, rr.models, rr.extensions)
PUBLIC = {name: getattr(home, name) for home in FAMILIES for name in home.__all__}
FUNCTIONS = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]
CLASSES = [name for name, value in PUBLIC.items() if inspect.isclass(value)]


def exposed(home):
    """What a package shows beside its files."""
    return {
        name
        for name, value in vars(home).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }


def test_all_is_what_is_public():
    """__all__ is sorted and lists what the package exposes; of its files the rooms alone."""
    assert rr.__all__ == sorted(rr.__all__)
    assert set(rr.__all__) == exposed(rr) | ROOMS
    assert len(rr.__all__) <= 27


@pytest.mark.parametrize("room", [rr.scaling, rr.positions, rr.models, rr.extensions])
def test_a_room_lists_what_it_exposes(room):
    """The same of each family: one name, one place, but for those that a spec needs."""
    assert len(room.__all__) == len(set(room.__all__))
    assert set(room.__all__) == exposed(room)
    twice = set(room.__all__) & set(rr.__all__)
    assert twice <= {
        "ExplicitFrequencies",
        "FrequencyRule",
        "PowerLaw",
        "spec_from_gguf",
        "spec_from_hf_config",
    }


def test_errors_are_all_listed():
    """errors.__all__ is sorted and holds every exception; each but the root is also a builtin's."""
    classes = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, rr.RopeError)
    }
    assert errors.__all__ == sorted(classes)
    for name, value in classes.items():
        assert value.__doc__
        if name != "RopeError":
            assert issubclass(value, ValueError | TypeError)


def sections(doc):
    return re.findall(r"^(\w+)\n-+$", doc, re.MULTILINE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_described(name):
    """Each function documents its parameters and result, or says whose they share."""
    function = PUBLIC[name]
    doc = inspect.getdoc(function)
    shared = re.search(r"Parameters[^.]* those\s+of\s+`(\w+)`", doc)
    if shared:
        doc += inspect.getdoc(PUBLIC[shared[1]])
    assert "Parameters" in sections(doc)
    assert "Returns" in sections(doc)
    for parameter in inspect.signature(function).parameters:
        names = {parameter, "x" if shared and parameter in ("y", "g") else parameter}
        assert any(re.search(rf"^(?:\w+, )*{n}(?:, \w+)*$", doc, re.MULTILINE) for n in names)


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_described(name):
    """Each class, method and property has a docstring; what a spec or rule takes is explained."""
    cls = PUBLIC[name]
    doc = inspect.getdoc(cls)
    assert doc
    if dataclasses.is_dataclass(cls):
        assert {"Parameters", "Raises"} <= set(sections(doc))
        for field in dataclasses.fields(cls):
            assert re.search(rf"^(?:\w+, )*{field.name}(?:, \w+)*$", doc, re.MULTILINE)
    for attribute, value in vars(cls).items():
        if not attribute.startswith("_") and (callable(value) or isinstance(value, property)):
            assert inspect.getdoc(value), attribute


SPEC = rr.RopeSpec(8, layout="half", rotary_dim=6)


@pytest.mark.parametrize(
    "value",
    [SPEC, rr.PowerLaw(), rr.ExplicitFrequencies([1.0]), rr.ExplicitFrequencies(turns=[1])],
    ids=repr,
)
def test_values_are_immutable(value):
    """No field of a spec or rule can be set or deleted, nor a new one added."""
    for name in [field.name for field in dataclasses.fields(value)] + ["more"]:
        with pytest.raises(AttributeError):
            setattr(value, name, 1)
    with pytest.raises(AttributeError):
        delattr(value, dataclasses.fields(value)[0].name)


def test_theta_is_read_only():
    """The array that theta() hands out is shared, so it cannot be written to."""
    assert not SPEC.theta().flags.writeable
    assert SPEC.theta().dtype == np.float64
    assert SPEC.theta().shape == (3,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (rr.PowerLaw(10000), rr.PowerLaw(10000.0)),
        (rr.PowerLaw(10000), rr.PowerLaw(np.float32(10000))),
        (rr.PowerLaw(10000), rr.PowerLaw(np.int64(10000))),
        (rr.PowerLaw(10000), rr.PowerLaw(Fraction(10000))),
        (rr.PowerLaw(10000), rr.PowerLaw()),
        (rr.ExplicitFrequencies([1, 0.5]), rr.ExplicitFrequencies(np.array([1, 0.5], np.float32))),
        (
            rr.ExplicitFrequencies([1, 0.5]),
            rr.ExplicitFrequencies(iter((1.0, Fraction(1, 2))), amplitude=1.0),
        ),
        (rr.ExplicitFrequencies(turns=[Fraction(1, 2)]), rr.ExplicitFrequencies(turns=[0.5])),
        (
            rr.RopeSpec(8, layout="half"),
            rr.RopeSpec(
                np.int64(8),
                layout="half",
                rotary_dim=8,
                rotary_start=0,
                output_layout="half",
                frequencies=rr.PowerLaw(1e4),
                direction=1,
            ),
        ),
        (
            rr.RopeSpec(4, layout="half", pair_axes=[0, 1]),
            rr.RopeSpec(4, layout="half", pair_axes=np.arange(2)),
        ),
    ],
    ids=repr,
)
def test_equal_descriptions_are_equal(one, other):
    """However a spec or rule was written down, equal ones compare and hash equal."""
    assert one == other
    assert hash(one) == hash(other)


def test_different_descriptions_differ():
    """Each argument of a spec, and each parameter of a rule, tells specs apart."""
    specs = [
        SPEC,
        rr.RopeSpec(9, layout="half", rotary_dim=6),
        rr.RopeSpec(8, layout="interleaved", rotary_dim=6),
        rr.RopeSpec(8, layout="half", rotary_dim=4),
        rr.RopeSpec(8, layout="half", rotary_dim=6, rotary_start=2),
        rr.RopeSpec(8, layout="half", rotary_dim=6, output_layout="interleaved"),
        rr.RopeSpec(8, layout="half", rotary_dim=6, direction=-1),
        rr.RopeSpec(8, layout="half", rotary_dim=6, pair_axes=(0, 0, 1)),
    ]
    rules = [
        rr.PowerLaw(10000.000000000002),
        rr.ExplicitFrequencies([1.0, 0.5, 0.25]),
        rr.ExplicitFrequencies([1.0, 0.5, 0.25], amplitude=1.5),
        rr.ExplicitFrequencies(turns=[1.0, 0.5, 0.25]),
    ]
    specs += [rr.RopeSpec(8, layout="half", rotary_dim=6, frequencies=rule) for rule in rules]
    assert len(set(specs)) == len(specs)


def test_the_spec_prints_as_what_made_it():
    """repr names every argument, so that an error that restates a spec can be reproduced."""
    for spec in (SPEC, rr.RopeSpec(4, layout="interleaved", frequencies=rr.PowerLaw(5e5))):
        names = {"RopeSpec": rr.RopeSpec, "PowerLaw": rr.PowerLaw, "Fraction": Fraction}
        assert eval(repr(spec), names) == spec


def test_a_spec_holds_plain_integers():
    """NumPy's integers are taken and become Python's: the spec prints as what made it."""
    numbers = {"rotary_dim": np.int32(4), "rotary_start": np.uint8(2), "direction": np.int64(-1)}
    spec = rr.RopeSpec(np.int16(8), layout="half", pair_axes=np.array([1, 0]), **numbers)
    held = (spec.head_dim, spec.rotary_dim, spec.rotary_start, spec.direction, *spec.pair_axes)
    assert held == (8, 4, 2, -1, 1, 0)
    assert {type(number) for number in held} == {int}


def test_a_rule_gives_one_number_for_each_pair():
    """Its methods return R/2 entries, none of them for a RoPE that rotates nothing."""
    for pairs in (0, 1, 3):
        ones = [1.0] * pairs
        for rule in (
            rr.PowerLaw(),
            rr.ExplicitFrequencies(ones),
            rr.ExplicitFrequencies(turns=ones),
        ):
            assert len(rule.theta(2 * pairs)) == len(rule.frequencies(2 * pairs)) == pairs


def test_a_rule_of_ones_own():
    """A subclass of FrequencyRule says its frequencies, and serves as any other rule."""

    @dataclasses.dataclass(frozen=True)
    class Halved(rr.FrequencyRule):
        rule: rr.PowerLaw

        def frequencies(self, rotary_dim):
            return tuple(frequency / 2 for frequency in self.rule.frequencies(rotary_dim))

    halved = rr.RopeSpec(8, layout="half", frequencies=Halved(rr.PowerLaw()))
    plain = rr.RopeSpec(8, layout="half")
    assert halved.frequencies.amplitude == 1
    assert halved.theta().tolist() == [theta / 2 for theta in plain.theta()]
    even = np.arange(-50, 50) * 2
    for ours, theirs in zip(rr.cos_sin(even, halved), rr.cos_sin(even // 2, plain), strict=True):
        # The same angle by way of other products: each within 0.8 ulp of it.
        assert (np.abs(ours - theirs) <= 1.6 * np.spacing(np.abs(theirs))).all()
