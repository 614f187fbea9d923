"""A request that outgrows the length its model was trained for.

For dynamic NTK and LongRoPE, whose frequencies depend on the length of the text. The methods
are those of `rope_conformance.clauses.decode`; judged here is which frequencies each call is
rotated by.

Systems differ in which length counts: that of the call (its largest position plus 1), the longest
call so far, the longest until a call is shorter than the original length, that of each row of the
batch, or each token's own. Padding never counts. Keys that are cached when the frequencies change
keep theirs, or take the new ones. Which it is, is a fact, or a verdict where the claim says
``length_rule`` or ``cached_keys``; but all calls must agree with one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rope_conformance.clauses._alike import alike
from rope_conformance.clauses._caches import offers
from rope_conformance.clauses._lengths import follows_length
from rope_conformance.clauses._playing import play
from rope_conformance.clauses._scripts import Script, fixed
from rope_conformance.inputs.sessions import Session
from rope_conformance.judging.context import CheckContext
from rope_ref.scaling import DynamicNTK, LongRoPE

_SHORTEST, _LONGEST = 32, 2**15  # original lengths that requests are made for


def _open(context: CheckContext) -> str | None:
    if not follows_length(context):
        return "the frequencies do not depend on the length of the request"
    if not context.implementation.is_factory:
        return "its frequencies follow from what it has served; a factory is judged, made anew"
    n, (low, high) = _original(context), context.claim.position_range
    if not _SHORTEST <= n <= _LONGEST:
        return f"needs an original length from {_SHORTEST} to {_LONGEST}"
    return None if low <= 0 and high >= 3 * n else f"needs positions from 0 to {3 * n}"


def _offering(*names: str) -> Callable[[CheckContext], str | None]:
    def opened(context: CheckContext) -> str | None:
        missing = set(names) - offers(context)
        return _open(context) or (f"{min(missing)}() is not offered" if missing else None)

    return opened


def _original(context: CheckContext) -> int:
    rule = context.spec.frequencies
    assert isinstance(rule, DynamicNTK | LongRoPE)
    return int(rule.original_length)


def _over(context: CheckContext) -> list[Session]:
    """Up to the original length, and past it by steps, a prompt, padding alone, and by far."""
    n = _original(context)
    ragged: list[Script] = [(2, 2, (("prefill", n + 6, (5, n - 4)), ("step", 2)))]
    return fixed(
        (2, 2, (("prefill", n - 2), ("step", 4))),
        (1, 3, (("prefill", n - 1), ("step", 1))),
        (1, 2, (("prefill", n), ("step", 2))),
        (3, 1, (("prefill", n + 1), ("step", 2))),
        (1, 2, (("prefill", 2 * n), ("step", 2))),
        (1, 1, (("prefill", 3), ("step", 1), ("prefill", n), ("step", 2))),
        *(ragged if "lengths" in offers(context) else []),
    )(context)


def _in_chunks(context: CheckContext) -> list[Session]:
    """Chunks that end beyond the original length, some longer than it, some shorter."""
    n = _original(context)
    return fixed(
        (1, 2, (("prefill", n - 3), ("prefill", 6), ("step", 2))),
        (2, 1, (("prefill", n // 2), ("prefill", n), ("prefill", 3), ("step", 1))),
        (1, 2, (("prefill", 1), ("prefill", n), ("step", 1))),
        (1, 1, (("prefill", n + 8), ("prefill", n + 8), ("step", 1))),
        (1, 3, (("prefill", n - 1), ("prefill", 1), ("prefill", 1), ("prefill", 5))),
    )(context)


def _after_a_long_one(context: CheckContext) -> list[Session]:
    """Requests below, at and above the original length, after a longer one; calls between."""
    n = _original(context)
    near, far = ("apply", 0), ("apply", 2 * n)
    rows = (("prefill", n + 6, (n + 6, 5, n)), ("step", 2), ("start",), ("prefill", n))
    long = (("prefill", 2 * n), ("step", 1), ("start",))
    return fixed(
        (1, 2, (*long, ("prefill", 5), ("step", 2))),
        (1, 2, (*long, ("prefill", n - 1), ("step", 3))),
        (2, 1, (*long, ("prefill", n), ("step", 2))),
        (1, 2, (*long, ("prefill", n + n // 2), ("step", 2))),
        (1, 1, (("prefill", 5), ("step", 1), ("start",), *long, ("prefill", 7), ("step", 1))),
        (1, 1, (*long, ("prefill", n), ("start",), ("prefill", n - 2), ("step", 4))),
        (1, 2, (("prefill", n + 4), near, ("step", 2), far, ("step", 2))),
        (1, 2, (("prefill", 5), ("step", 1), far, ("step", 2), near, ("prefill", n), ("step", 1))),
        *([(3, 1, rows)] if "lengths" in offers(context) else []),
    )(context)


def _looked_into(context: CheckContext) -> list[Session]:
    """Keys before and after the frequencies change, and change again."""
    n, look = _original(context), ("keys",)
    return fixed(
        (2, 2, (("prefill", n - 2), look, ("step", 4), look)),
        (1, 2, (("prefill", n // 2), ("prefill", n), look, ("step", 2), look)),
        (1, 1, (("prefill", n + 3), look, ("step", 2), look, ("start",), ("prefill", 5), look)),
        (1, 3, (("prefill", n - 1), ("step", 1), look, ("prefill", n), look)),
        (1, 1, (("prefill", n), ("prefill", 1), look)),
    )(context)


def _moved(context: CheckContext) -> list[Session]:
    """Keys of one length and of several, moved once and again, and what comes after."""
    n, look, offered = _original(context), ("keys",), offers(context)
    step: tuple[Any, ...] = (look, ("step", 1), look)
    scripts: list[Script] = [
        (2, 2, (("prefill", n - 8), ("shift", 3), *step, ("shift", 0), *step)),
        (1, 2, (("prefill", n - 2), ("step", 4), ("shift", 5), *step)),
        (1, 1, (("prefill", n + 4), ("shift", 7), ("shift", -6), *step)),
        (1, 2, (("prefill", 6), ("shift", n), *step, ("shift", 2), *step)),
        (1, 2, (("prefill", 6), ("shift", 40_000), ("step", 1))),
        (1, 3, (("prefill", n // 2), ("prefill", n), ("shift", 9), *step)),
    ]
    if "evict" in offered:
        scripts.append((1, 2, (("prefill", n - 2), ("step", 4), ("evict", 2, 5), *step)))
        scripts.append((1, 1, (("prefill", n), ("step", 2), ("evict", 1, n - 9), *step, *step)))
    return fixed(*scripts)(context)


_session_clause = alike(
    play,
    __name__,
    surface="decode",
    reference="rope_ref.extensions.length_rules:served_rule",
    opened_by=_open,
    minimum=50,
    numeric=True,
)

_session_clause(
    id="growth.length",
    sentence=(
        "A request that grows past the original length is rotated by the frequencies of its "
        "length, from the first token beyond on, and not before."
    ),
    formula=r"\theta = \theta(q),\quad q = \max p + 1",
    how="Stand on both sides of the original length, and walk over it.",
    fault="scaling",
    fixed=_over,
)

_session_clause(
    id="growth.chunks",
    sentence="The length of a chunk is where it ends in the request, not how many tokens it has.",
    formula=r"q \ne T",
    how="Cut a prompt at the original length, and on either side of it.",
    fault="scaling",
    fixed=_in_chunks,
)

_session_clause(
    id="growth.requests",
    sentence="After a long request a short one is rotated as the length rule says.",
    formula=r"q < L \;\Rightarrow\; \theta = \theta(L) \text{ where the rule resets}",
    how="Begin again after a long request, with a prompt of each kind.",
    fault="cache",
    fixed=_after_a_long_one,
)

_session_clause(
    id="growth.keys",
    sentence=(
        "When the frequencies change, either all cached keys keep those they were rotated by, or "
        "all take the new ones."
    ),
    formula=(
        r"\mathrm{keys}()_j = f(x_j, p_j; \theta_j) \;\forall j \text{ or } "
        r"f(x_j, p_j; \theta_{\mathrm{now}}) \;\forall j"
    ),
    how="Look into the cache around the change.",
    fault="cache",
    opened_by=_offering("keys"),
    fixed=_looked_into,
)

_session_clause(
    id="growth.shift",
    sentence=(
        "Keys that move are rotated by the frequencies they have, and without the amplitude, which "
        "they have too."
    ),
    formula=r"\mathrm{keys}()_j = f(x_j,\, p_j + \delta;\, \theta_j)",
    reference="rope_ref.extensions.repositioning:reposition_rope",
    how="Move keys from before and after the change, and look at them.",
    fault="cache",
    opened_by=_offering("keys", "shift"),
    fixed=_moved,
)
