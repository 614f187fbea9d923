"""Profiles have names, and number types their units."""

import ml_dtypes
import numpy as np
import pytest

from rope_conformance.accuracy.number_types import tiny, unit_roundoff
from rope_conformance.accuracy.profiles import PROFILES, profile_named
from rope_conformance.target.claim import DTYPES


def test_profiles_have_names_and_sentences_of_their_own():
    """Each is found by its name; an unknown name is refused and the known ones are listed."""
    assert [profile_named(p.name) for p in PROFILES] == list(PROFILES)
    assert len({p.name for p in PROFILES}) == len({p.sentence for p in PROFILES}) == len(PROFILES)
    with pytest.raises(ValueError, match="'float8' is not known.*'exact'.*'model-dtype-table'"):
        profile_named("float8")


@pytest.mark.parametrize("dtype", DTYPES)
def test_units_are_those_of_the_formats(dtype):
    """u is half the distance from 1 to the next number, tiny half the smallest number."""
    info = np.finfo(dtype) if dtype.startswith("float") else ml_dtypes.finfo(dtype)
    assert unit_roundoff(dtype) == float(info.eps) / 2
    smallest = float(info.smallest_subnormal)
    assert tiny(dtype) == (smallest / 2 or smallest)
