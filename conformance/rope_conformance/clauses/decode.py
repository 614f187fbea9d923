"""A request that grows: an object that keeps a cache, and a position, between calls.

What an object offers for this surface:

``start()``
    Begins a new request. It forgets the former one and returns None; or it returns a
    session, an object with the methods below, and then several requests live at once.
``prefill(x, lengths=None)``
    Takes the next T tokens of every row, in the claimed axes, and returns them rotated, in
    the claimed axes and type. The first token has position 0; a second prefill is the next
    chunk and continues from there. ``lengths``, B integers in an array of the claimed
    framework, says that rows are padded on the right: row b has ``lengths[b]`` real tokens,
    at least one. The output of padding is not judged, padding does not count in the length of
    a text, and the next token of row b takes the position after its last real one.
``step(x)``
    The same for one token of every row.

What it may offer as well:

``keys()``
    The rotated keys that it has cached: all tokens of all calls in order, in the claimed
    axes and type.
``evict(start, stop)``
    Removes the tokens in slots start to stop - 1 from the cache; the newest stays. There
    are two public conventions. Either the others keep their positions, and the next
    token's position is as if nothing had been removed; or the others are rotated again, so
    that slot j has position j, and the next token has the number of tokens left.
    Which one it is, is a fact. Anything between the two is wrong.
``shift(delta)``
    All cached keys, and the next position, move by delta, which may be negative or 0. The
    keys have the amplitude already, and only the channels that rotate change.

After a prefill with lengths neither ``keys`` nor ``evict`` is called until the next
request, and after a shift no ``evict``. A call changes neither x nor what the call before
it returned. Positions follow from the calls alone: `apply_rope` and other objects change
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rope_conformance.clauses._alike import alike
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
from rope_conformance.inputs.sessions import Session, sessions
from rope_conformance.judging.context import CheckContext

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_ROOM = 40  # positions that the shortest sessions of every kind need


def _room(context: CheckContext) -> str | None:
    low, high = context.claim.position_range
    if follows_length(context) and not context.implementation.is_factory:
        return "its frequencies follow from what it has served; a factory is judged, made anew"
    return None if low <= 0 and high >= _ROOM else f"needs positions from 0 to {_ROOM}"


def _needs(offer: str, reason: str) -> Callable[[CheckContext], str | None]:
    return lambda context: _room(context) or (None if offer in offers(context) else reason)


def _any_order(context: CheckContext) -> SearchStrategy[Session]:
    return sessions(context.claim, offers(context))


_session_clause = alike(
    play,
    __name__,
    surface="decode",
    reference="rope_ref.rotation:apply_rope",
    minimum=50,
    numeric=True,
)

_session_clause(
    id="decode.prefill",
    sentence="A prompt and the tokens after it, one by one, are rotated as the whole at once.",
    formula=r"\mathrm{prefill}(x_{0:n}),\ \mathrm{step}(x_n),\ \dots = f(x,\, 0 \dots)",
    how="Hand over a prompt, then tokens one by one.",
    fault="position",
    opened_by=_room,
    fixed=prompts,
)

_session_clause(
    id="decode.chunks",
    sentence="A prompt that comes in chunks of any lengths is rotated as the whole at once.",
    formula=r"\mathrm{prefill}(x_{0:k}),\ \mathrm{prefill}(x_{k:n}) = \mathrm{prefill}(x_{0:n})",
    how="Cut before the second token, before the last, into equal parts, between steps.",
    fault="position",
    opened_by=_room,
    fixed=in_chunks,
)

_session_clause(
    id="decode.requests",
    sentence=(
        "A request begins at position 0 and follows its own calls, whatever else the object has "
        "done."
    ),
    formula=r"\mathrm{start}() \;\Rightarrow\; p_0 = 0",
    how="Begin again after long and short requests, after none, after one that failed.",
    fault="cache",
    opened_by=_room,
    fixed=one_after_another,
)

_session_clause(
    id="decode.rows",
    sentence="Rows of different lengths go on behind their own last token each.",
    formula=r"p_{b,\mathrm{next}} = \mathrm{lengths}_b",
    how="Prompts of different lengths in one batch, then tokens behind each.",
    fault="position",
    opened_by=_needs("lengths", "there is no batch axis, or prefill takes no lengths"),
    fixed=ragged,
)

_session_clause(
    id="decode.long",
    sentence="A request may grow past the end of any table, in one call or step by step.",
    formula=r"p = L - 1,\ L,\ L + 1, \dots",
    how="Stand on both sides of 64, 128, ... 4096, 8192, 32768, and walk over the first.",
    reference="rope_ref.definition:cos_sin",
    fault="cache",
    opened_by=(
        lambda context: (
            _room(context)
            or ("the frequencies change with the length" if follows_length(context) else None)
            or (None if context.claim.position_range[1] >= 66 else "needs positions to 66 at least")
        )
    ),
    fixed=past_tables,
)

_session_clause(
    id="decode.keys",
    sentence="The cache holds all tokens in order, each rotated once, where it stands.",
    formula=r"\mathrm{keys}()_j = f(x_j,\, p_j)",
    how="Look into the cache after every kind of call.",
    fault="cache",
    opened_by=_needs("keys", "keys() is not offered"),
    fixed=looked_into,
)

_session_clause(
    id="decode.evict",
    sentence=(
        "When tokens leave the cache, either all others keep their positions and the next token "
        "goes on, or all others are rotated to stand without a gap and the next token follows."
    ),
    formula=r"p_j = p_j^{\mathrm{old}} \;\forall j \quad\text{or}\quad p_j = j \;\forall j",
    how="Take tokens out; keys and next steps must all follow one of the two conventions.",
    fault="cache",
    opened_by=_needs("evict", "evict() is not offered"),
    fixed=evictions,
)

_session_clause(
    id="decode.shift",
    sentence=(
        "A shift moves all cached keys and the next position by the same amount, and is a "
        "rotation without amplitude."
    ),
    formula=r"\mathrm{keys}()_j = f(x_j,\, p_j + \delta)",
    how="Move what is cached, and look at it and at the next tokens.",
    fault="cache",
    opened_by=_needs("shift", "shift() is not offered"),
    fixed=shifts,
)

_session_clause(
    id="decode.sessions",
    sentence="Requests that live at once do not disturb each other.",
    formula=r"p \text{ of a request depends on its own calls alone}",
    how="Go on in one request, then in the other.",
    fault="cache",
    opened_by=_needs("sessions", "start() returns no sessions: there is one request at a time"),
    fixed=interleaved_sessions,
)

_session_clause(
    id="decode.sequence",
    sentence="All this holds for the calls in any order.",
    formula=r"y = f(x,\, p),\quad p \text{ as the calls say}",
    how="Call in any order what may be called.",
    fault="cache",
    opened_by=_room,
    generated=_any_order,
)
