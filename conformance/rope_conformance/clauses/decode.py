"""A request that grows: an object that keeps a cache, and a position, between calls.

What an object offers for this surface:

``start()``
    Begins a new request. It forgets the former one and returns None; or it returns a
    session, an object with the methods below, and then several requests live at once.
``prefill(x, lengths=None)``
    Takes the next T tokens of every row, in the claimed axes, and returns them rotated, in
    the claimed axes and type. The first stands at position 0; a second prefill is the next
    chunk and goes on where the request has come to. ``lengths``, B integers in an array of
    the claimed framework, says that rows are padded on the right: row b has ``lengths[b]``
    real tokens, at least one. What comes out of padding is not judged, padding is no part of
    the length of a text, and the next token of row b takes the position behind its last real
    one.
``step(x)``
    The same for one token of every row.

What it may offer beside:

``keys()``
    The rotated keys that it has cached: all tokens of all calls in order, in the claimed
    axes and type.
``evict(start, stop)``
    Takes the tokens in slots start to stop - 1 of the cache out; the newest stays. There
    are two public conventions. Either the others keep their positions, and the next
    token's position goes on as if nothing were lost; or the others are rotated again, so
    that slot j stands at position j, and the next token stands at the number of tokens left.
    Which one it is, is a fact. Anything between the two is wrong.
``shift(delta)``
    All cached keys, and the next position, move by delta, which may be negative or 0. The
    amplitude is on the keys already, and only the channels that rotate move.

After a prefill with lengths neither ``keys`` nor ``evict`` is called until the next
request, and after a shift no ``evict``. A call changes neither x nor what the call before
it returned. Positions follow from the calls alone: `apply_rope` and other objects change
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rope_conformance.clauses._caches import offers
from rope_conformance.clauses._lengths import follows_length
from rope_conformance.clauses._playing import play
from rope_conformance.clauses._scripts import (
    evictions,
    in_chunks,
    interleaved_sessions,
    looked_into,
    one_after_another,
    past_tables,
    prompts,
    ragged,
    shifts,
)
from rope_conformance.registry import Clause
from rope_conformance.sessions import Session, sessions
from rope_conformance.trial import Trial

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_ROOM = 40  # positions that the shortest sessions of every kind find place in


def _room(trial: Trial) -> str | None:
    low, high = trial.claim.position_range
    if follows_length(trial) and not trial.implementation.is_factory:
        return "its frequencies follow from what it has served; a factory is judged, made anew"
    return None if low <= 0 and high >= _ROOM else f"needs positions from 0 to {_ROOM}"


def _needs(offer: str, reason: str) -> Callable[[Trial], str | None]:
    return lambda trial: _room(trial) or (None if offer in offers(trial) else reason)


PREFILL = Clause(
    id="decode.prefill",
    sentence="A prompt and the tokens after it, one by one, are rotated as the whole at once.",
    formula=r"\mathrm{prefill}(x_{0:n}),\ \mathrm{step}(x_n),\ \dots = f(x,\, 0 \dots)",
    reference="rope_ref.rotation:apply_rope",
    fault="position",
    surface="decode",
    opened_by=_room,
)

CHUNKS = Clause(
    id="decode.chunks",
    sentence="A prompt that comes in chunks of any lengths is rotated as the whole at once.",
    formula=(r"\mathrm{prefill}(x_{0:k}),\ \mathrm{prefill}(x_{k:n}) = \mathrm{prefill}(x_{0:n})"),
    reference="rope_ref.rotation:apply_rope",
    fault="position",
    surface="decode",
    opened_by=_room,
)

REQUESTS = Clause(
    id="decode.requests",
    sentence=(
        "A request begins at position 0 and follows its own calls, whatever else the object has "
        "done."
    ),
    formula=r"\mathrm{start}() \;\Rightarrow\; p_0 = 0",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface="decode",
    opened_by=_room,
)

ROWS = Clause(
    id="decode.rows",
    sentence="Rows of different lengths go on behind their own last token each.",
    formula=r"p_{b,\mathrm{next}} = \mathrm{lengths}_b",
    reference="rope_ref.rotation:apply_rope",
    fault="position",
    surface="decode",
    opened_by=_needs("lengths", "there is no batch axis, or prefill takes no lengths"),
)

LONG = Clause(
    id="decode.long",
    sentence="A request may grow past the end of any table, in one call or step by step.",
    formula=r"p = L - 1,\ L,\ L + 1, \dots",
    reference="rope_ref.sincos:cos_sin",
    fault="cache",
    surface="decode",
    opened_by=lambda trial: (
        _room(trial)
        or ("the frequencies change with the length" if follows_length(trial) else None)
        or (None if trial.claim.position_range[1] >= 66 else "needs positions to 66 at least")
    ),
)

KEYS = Clause(
    id="decode.keys",
    sentence="The cache holds all tokens in order, each rotated once, where it stands.",
    formula=r"\mathrm{keys}()_j = f(x_j,\, p_j)",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface="decode",
    opened_by=_needs("keys", "keys() is not offered"),
)

EVICT = Clause(
    id="decode.evict",
    sentence=(
        "When tokens leave the cache, either all others keep their positions and the next token "
        "goes on, or all others are rotated to stand without a gap and the next token follows."
    ),
    formula=r"p_j = p_j^{\mathrm{old}} \;\forall j \quad\text{or}\quad p_j = j \;\forall j",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface="decode",
    opened_by=_needs("evict", "evict() is not offered"),
)

SHIFT = Clause(
    id="decode.shift",
    sentence=(
        "A shift moves all cached keys and the next position by the same amount, and is a "
        "rotation without amplitude."
    ),
    formula=r"\mathrm{keys}()_j = f(x_j,\, p_j + \delta)",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface="decode",
    opened_by=_needs("shift", "shift() is not offered"),
)

SESSIONS = Clause(
    id="decode.sessions",
    sentence="Requests that live at once do not disturb each other.",
    formula=r"p \text{ of a request depends on its own calls alone}",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface="decode",
    opened_by=_needs("sessions", "start() returns no sessions: there is one request at a time"),
)

SEQUENCE = Clause(
    id="decode.sequence",
    sentence="All this holds for the calls in any order.",
    formula=r"y = f(x,\, p),\quad p \text{ as the calls say}",
    reference="rope_ref.rotation:apply_rope",
    fault="cache",
    surface="decode",
    opened_by=_room,
)


@PREFILL.check(
    fixed=prompts,
    kills=[
        "decode_position_frozen",
        "decode_adds_prompt_again",
        "decode_offset_lags",
        "decode_offset_lost",
        "decode_one_past",
        "decode_table_slice_swapped",
        "decode_first_row_only",
        "decode_reuses_buffer",
        "decode_amplitude_in_prefill_only",
        "decode_rotates_all_channels",
    ],
    minimum=50,
    numeric=True,
)
def prefill(trial: Trial, session: Session) -> None:
    """Hand over a prompt, then tokens one by one."""
    play(trial, session)


@CHUNKS.check(
    fixed=in_chunks,
    kills=["decode_chunk_restarts", "decode_table_by_length", "decode_chunk_length_for_offset"],
    minimum=50,
    numeric=True,
)
def chunks(trial: Trial, session: Session) -> None:
    """Cut before the second token, before the last, into equal parts, between steps."""
    play(trial, session)


@REQUESTS.check(
    fixed=one_after_another,
    kills=[
        "decode_request_continues",
        "decode_longest_request_counts",
        "decode_first_prompt_kept",
        "decode_apply_moves_offset",
        "decode_counter_of_the_class",
    ],
    minimum=50,
    numeric=True,
)
def requests(trial: Trial, session: Session) -> None:
    """Begin again after long and short requests, after none, after one that failed."""
    play(trial, session)


@ROWS.check(
    fixed=ragged,
    kills=[
        "decode_lengths_ignored",
        "decode_rows_follow_first",
        "decode_rows_follow_longest",
        "decode_lengths_from_the_left",
    ],
    minimum=50,
    numeric=True,
)
def rows(trial: Trial, session: Session) -> None:
    """Prompts of different lengths in one batch, then tokens behind each."""
    play(trial, session)


@LONG.check(
    fixed=past_tables,
    kills=[
        "decode_wraps_at_table_end",
        "decode_clamps_at_table_end",
        "decode_table_regrown_rounded",
        "decode_positions_bfloat16",
        "decode_positions_int16",
        "decode_table_regrown_from_zero",
    ],
    minimum=50,
    numeric=True,
)
def long(trial: Trial, session: Session) -> None:
    """Stand on both sides of 64, 128, ... 4096, 8192, 32768, and walk over the first."""
    play(trial, session)


@KEYS.check(
    fixed=looked_into,
    kills=[
        "decode_keys_not_rotated",
        "decode_keys_lack_newest",
        "decode_keys_of_former_request",
        "longrope_cached_keys_stay_short",
    ],
    minimum=50,
    numeric=True,
)
def keys(trial: Trial, session: Session) -> None:
    """Look into the cache after every kind of call."""
    play(trial, session)


@EVICT.check(
    fixed=evictions,
    kills=[
        "decode_evict_leaves_newest",
        "decode_evict_without_rotation",
        "decode_evict_forgets_next",
        "decode_evict_rotates_the_wrong_way",
        "decode_evict_adds_amplitude",
        "decode_evict_takes_one_more",
    ],
    minimum=50,
    numeric=True,
)
def evict(trial: Trial, session: Session) -> None:
    """Take tokens out; keys and next steps must all follow one of the two conventions."""
    play(trial, session)


@SHIFT.check(
    fixed=shifts,
    kills=[
        "decode_shift_adds_amplitude",
        "decode_shift_over_head_dim",
        "decode_shift_forgets_next",
        "decode_shift_forgets_keys",
        "decode_shift_leaves_newest",
    ],
    minimum=50,
    numeric=True,
)
def shift(trial: Trial, session: Session) -> None:
    """Move what is cached, and look at it and at the next tokens."""
    play(trial, session)


@SESSIONS.check(
    fixed=interleaved_sessions,
    kills=["decode_sessions_share_counter", "decode_sessions_share_keys"],
    minimum=50,
    numeric=True,
)
def interleaved(trial: Trial, session: Session) -> None:
    """Go on in one request, then in the other."""
    play(trial, session)


def _any_order(trial: Trial) -> SearchStrategy[Session]:
    return sessions(trial.claim, offers(trial))


@SEQUENCE.check(
    generated=_any_order,
    kills=["decode_offset_lost", "decode_offset_lags", "decode_request_continues"],
    minimum=50,
    numeric=True,
)
def sequence(trial: Trial, session: Session) -> None:
    """Call in any order what may be called."""
    play(trial, session)
