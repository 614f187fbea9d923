"""What is asked of an object that keeps a cache, and where each of its tokens then stands."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rope_conformance as rc
from rope_conformance.inputs.cache_positions import CONVENTIONS, CachePositions
from rope_conformance.inputs.rebuild import rebuild
from rope_conformance.inputs.sessions import Session, sessions

WIDE = rc.Claim(position_range=(-(2**20), 2**20), empty=True)
ALL = {"evict", "shift", "keys", "lengths", "sessions"}


# Where tokens stand


def positions_by_hand(session, convention):
    """The positions of one row's cache and the next one, token by token, in lists."""
    cache, following = [], 0
    for name, *rest in session.operations:
        if name == "start":
            cache, following = [], 0
        elif name == "prefill" and len(rest) == 2:
            cache += [following + n for n in range(rest[0])]
            following += rest[1][0]
        elif name in ("prefill", "step"):
            for _ in range(rest[0]):
                cache.append(following)
                following += 1
        elif name == "evict":
            cache = [p for slot, p in enumerate(cache) if not rest[0] <= slot < rest[1]]
            if convention == "closed":
                cache, following = [*range(len(cache))], len(cache)
        elif name == "shift":
            cache, following = [p + rest[0] for p in cache], following + rest[0]
    return cache, following


@pytest.mark.parametrize("convention", CONVENTIONS)
@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(session=sessions(WIDE, ALL - {"sessions"}))
def test_places_are_those_counted_by_hand(session, convention):
    """After any calls the slots and the next position are what lists of tokens give."""
    places = CachePositions(session.batch, convention)
    for name, *rest in session.operations:
        if name == "start":
            places = CachePositions(session.batch, convention)
        elif name in ("prefill", "step"):
            places.grow(*rest)
        elif name in ("evict", "shift"):
            getattr(places, name)(*rest)
    cache, following = positions_by_hand(session, convention)
    assert places.slots[0].tolist() == cache
    assert places.next[0] == following
    # Each token was rotated where it first stood, and last to where it stands.
    assert all(turn.shape == places.slots.shape for turn in places.turns)
    assert np.isfinite(places.turns[0]).all()
    if places.slots.size:
        last = [row[np.isfinite(row)][-1] for row in np.array(places.turns)[:, 0].T]
        assert last == cache


def test_the_two_conventions_as_the_page_has_them():
    """Eight tokens without those in slots 2 to 4."""
    kept, closed = (CachePositions(1, convention) for convention in CONVENTIONS)
    for places in (kept, closed):
        places.grow(8)
        places.evict(2, 5)
    assert (kept.slots[0].tolist(), kept.next[0]) == ([0, 1, 5, 6, 7], 8)
    assert (closed.slots[0].tolist(), closed.next[0]) == ([0, 1, 2, 3, 4], 5)


# Sessions


CLAIMS = (
    WIDE,
    rc.Claim(position_range=(0, 40)),
    rc.Claim(axes="td", position_range=(0, 200)),
    rc.Claim(axes="bhtd", position_range=(-4, 60)),
)


@pytest.mark.parametrize("claim", CLAIMS)
@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(data=st.data())
def test_generated_sessions_are_inside_the_claim_and_can_be_rebuilt(claim, data):
    """Also with few methods; a smaller one that is inside is smaller and can be rebuilt too."""
    offered = data.draw(st.sets(st.sampled_from(sorted(ALL))))
    session = data.draw(sessions(claim, offered))
    assert session.inside(claim)
    assert rebuild(repr(session)) == session
    called = {operation[0] for operation in session.operations}
    assert called & {"evict", "shift", "keys"} <= offered
    assert "use" not in called or "sessions" in offered
    for smaller in session.smaller(None):
        assert smaller.size() <= session.size()
        assert rebuild(repr(smaller)) == smaller


@pytest.mark.parametrize(
    "operations",
    [
        (("step", 1),),
        (("prefill", 4), ("step", 0)),
        (("prefill", 4), ("evict", 2, 4)),  # the newest stays
        (("prefill", 4), ("evict", 2, 2)),
        (("prefill", 4), ("shift", 1), ("evict", 1, 2)),
        (("prefill", 4, (1, 4)), ("keys",)),
        (("prefill", 4, (1, 4)), ("evict", 0, 1)),
        (("prefill", 4, (0, 4)),),
        (("prefill", 4, (1, 5)),),
        (("prefill", 4, (1,)),),
        (("keys",),),
        (("prefill", 4), ("broken",), ("step", 1)),
        (("prefill", 4), ("start",), ("step", 1)),
        (("prefill", 4), ("use", 1), ("step", 1)),
    ],
)
def test_what_the_contract_excludes_is_outside(operations):
    """No object is asked for what the page says it is not asked for."""
    assert not Session(2, 1, operations).inside(WIDE)


def test_positions_of_both_conventions_must_be_claimed():
    """Which of the two an object follows is not known beforehand."""
    claim = rc.Claim(position_range=(0, 9))
    assert Session(1, 1, (("prefill", 8), ("evict", 0, 4), ("step", 2))).inside(claim)
    assert not Session(1, 1, (("prefill", 8), ("evict", 0, 4), ("step", 3))).inside(claim)
    assert not Session(1, 1, (("prefill", 3), ("shift", -1))).inside(claim)
    assert Session(1, 1, (("prefill", 3), ("shift", 2), ("shift", -2))).inside(claim)
