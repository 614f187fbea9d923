"""The fixed sessions: what is asked of an object that keeps a cache, clause by clause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rope_conformance.clauses._caches import offers
from rope_conformance.inputs.sessions import Session
from rope_conformance.judging.context import CheckContext

__all__ = [
    "Script",
    "evictions",
    "fixed",
    "in_chunks",
    "interleaved_sessions",
    "looked_into",
    "one_after_another",
    "past_tables",
    "prompts",
    "ragged",
    "shifts",
]

Script = tuple[int, int, tuple[tuple[Any, ...], ...]]


def fixed(
    *scripts: Script, others: int = 0, used: int = 0
) -> Callable[[CheckContext], list[Session]]:
    """Sessions cut down to the claimed axes; the first few also on objects of other specs.

    `others`: how many are also tried with an amplitude and with half the channels; `used`:
    how many are also tried on the object that all other checks have used.
    """

    def sessions_of(context: CheckContext) -> list[Session]:
        axes, found = context.claim.axes, list[Session]()
        limits = (64 if "b" in axes else 1, 64 if "h" in axes else 1)
        for n, (batch, heads, operations) in enumerate(scripts):
            found.append(Session(batch, heads, operations, seed=n))
            if context.implementation.is_factory:
                found += [Session(batch, heads, operations, n, "used")] if n < used else []
                if n < others:
                    found.append(Session(batch, heads, operations, n, "amplified"))
                    found.append(Session(batch, heads, operations, n, "narrow"))
        return list(dict.fromkeys(session.cut(*limits) for session in found))

    return sessions_of


prompts = fixed(
    (2, 3, (("prefill", 5), ("step", 3))),
    (3, 2, (("prefill", 1), ("step", 5))),
    (4, 4, (("prefill", 4), ("step", 4))),
    (1, 7, (("prefill", 7), ("step", 1))),
    (9, 1, (("prefill", 3), ("step", 2))),
    (1, 33, (("prefill", 2), ("step", 2))),
    (1, 1, (("prefill", 17), ("step", 9))),
    (2, 2, (("prefill", 0), ("prefill", 3), ("step", 2))),
    others=1,
    used=2,
)

in_chunks = fixed(
    (1, 2, (("prefill", 1), ("prefill", 11), ("step", 2))),
    (1, 2, (("prefill", 11), ("prefill", 1), ("step", 2))),
    (2, 3, (("prefill", 4), ("prefill", 4), ("prefill", 4), ("step", 2))),
    (3, 2, (("prefill", 1), ("prefill", 1), ("prefill", 1), ("prefill", 3))),
    (5, 1, (("prefill", 5), ("prefill", 2), ("step", 1), ("prefill", 5), ("step", 1))),
    (1, 1, (("prefill", 100), ("prefill", 100), ("step", 2))),
)

one_after_another = fixed(
    (2, 2, (("prefill", 5), ("step", 2), ("start",), ("prefill", 5), ("step", 2))),
    (1, 3, (("prefill", 33), ("step", 2), ("start",), ("prefill", 3), ("step", 3))),
    (1, 3, (("prefill", 3), ("step", 1), ("start",), ("prefill", 33), ("step", 3))),
    (3, 1, (("start",), ("start",), ("prefill", 4), ("start",), ("prefill", 6), ("step", 2))),
    (1, 2, (("prefill", 4), ("broken",), ("start",), ("prefill", 6), ("step", 2))),
    (4, 1, (("prefill", 1), ("step", 3), ("start",), ("prefill", 2), ("step", 4))),
    (2, 2, (("prefill", 6), ("apply",), ("step", 1), ("apply",), ("step", 2))),
    (2, 2, (("prefill", 4), ("other",), ("step", 1), ("other",), ("prefill", 3), ("step", 1))),
    (1, 1, (("prefill", 300), ("step", 2), ("start",), ("prefill", 9), ("step", 3))),
    used=2,
)

ragged = fixed(
    (3, 2, (("prefill", 5, (5, 2, 4)), ("step", 3))),
    (2, 3, (("prefill", 6, (1, 6)), ("step", 2))),
    (4, 1, (("prefill", 4, (4, 3, 2, 1)), ("step", 4))),
    (2, 2, (("prefill", 4, (2, 4)), ("prefill", 3, (3, 1)), ("step", 2))),
    (3, 1, (("prefill", 5, (1, 3, 5)), ("prefill", 2), ("step", 2))),
    (2, 2, (("prefill", 7, (7, 7)), ("step", 2), ("start",), ("prefill", 3), ("step", 1))),
    (2, 2, (("prefill", 7, (3, 6)), ("step", 2), ("start",), ("prefill", 3), ("step", 1))),
    (2, 1, (("prefill", 200, (7, 200)), ("step", 2))),
)

looked_into = fixed(
    (2, 3, (("prefill", 5), ("step", 3), ("keys",), ("step", 1), ("keys",))),
    (1, 2, (("prefill", 1), ("keys",), ("prefill", 7), ("keys",), ("step", 2), ("keys",))),
    (3, 1, (("prefill", 3), ("keys",), ("start",), ("prefill", 4), ("step", 1), ("keys",))),
    (2, 2, (("prefill", 70), ("step", 2), ("keys",))),
    others=1,
)

# Lengths that tables are made for.
_TABLES: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 32768)


def past_tables(context: CheckContext) -> list[Session]:
    """Up to the end of a table and over it: by steps, by a chunk, in one call, in a second one."""
    scripts: list[Script] = [(1, 1, (("prefill", 1), ("step", 1100)))]
    tables = _TABLES
    if context.namespace.fixed_shapes:  # each new shape is a compilation
        tables = (512, 4096)
    scripts += [(1, 1, (("prefill", size - 1), ("step", 3))) for size in tables]
    for size in set(tables) & {512, 4096}:
        short = (("start",), ("prefill", 5), ("step", 2))
        scripts += [
            (1, 1, (("prefill", size - 2), ("prefill", 5), ("step", 1))),
            (2, 1, (*short[1:], ("start",), ("prefill", size + 1), ("step", 2), *short)),
        ]
    if "shift" in offers(context):
        far = (100_000, 500_000)
        scripts += [(1, 2, (("prefill", 6), ("shift", delta), ("step", 6))) for delta in far]
    return fixed(*scripts)(context)


def evictions(context: CheckContext) -> list[Session]:
    """Gaps at either end and between, one after another; seen in the keys and in the next step."""
    look: tuple[tuple[Any, ...], ...] = (("keys",),) if "keys" in offers(context) else ()
    step = (("step", 1), *look)
    slide = (("evict", 1, 2), ("step", 1))
    return fixed(
        (2, 3, (("prefill", 8), ("evict", 2, 5), *look, ("step", 2), *look)),
        (1, 2, (("prefill", 9), ("evict", 0, 3), *step, ("step", 1))),
        (1, 4, (("prefill", 6), ("evict", 0, 5), *look, *step)),
        (3, 1, (("prefill", 6), ("step", 1), ("evict", 5, 6), *look, *step)),
        (1, 2, (("prefill", 9), ("evict", 6, 7), ("evict", 1, 3), *look, *step)),
        (2, 2, (("prefill", 7), ("evict", 2, 3), *step, ("evict", 3, 5), *step)),
        (1, 3, (("prefill", 6), *(5 * slide), *look, *step)),
        (1, 2, (("prefill", 8), ("evict", 1, 4), ("prefill", 4), *look, *step)),
        (1, 1, (("prefill", 30), ("evict", 4, 25), *step, ("step", 2), *look)),
        (1, 1, (("prefill", 300), ("evict", 4, 200), *look, ("step", 2), *look)),
        (2, 2, (("prefill", 8), ("evict", 1, 4), *step, ("start",), ("prefill", 8), *step,
                ("evict", 2, 3), *step)),
        others=1,
    )(context)  # fmt: skip


def shifts(context: CheckContext) -> list[Session]:
    """Back and forth, by 0, several times, far, and after an eviction."""
    offered = offers(context)
    look: tuple[tuple[Any, ...], ...] = (("keys",),) if "keys" in offered else ()
    step = (*look, ("step", 1), *look)
    scripts: list[Script] = [
        (2, 3, (("prefill", 5), ("shift", 3), *step, ("step", 2), *look)),
        (1, 2, (("prefill", 6), ("shift", 0), *step, ("shift", 0), *step)),
        (1, 2, (("prefill", 6), ("shift", 7), ("shift", -5), *step, ("shift", 9), *step)),
        (3, 1, (("prefill", 4), ("step", 2), ("shift", 4), ("prefill", 3), *step)),
        (1, 1, (("prefill", 8), ("shift", 5), *step, ("start",), ("prefill", 5), *step)),
        (1, 2, (("prefill", 5), ("shift", -3), *step)),
        (1, 2, (("prefill", 9), ("shift", 1000), *step)),
        (1, 2, (("prefill", 9), ("shift", 4093), *step, ("step", 4))),
    ]
    if "lengths" in offered:
        scripts.append((2, 2, (("prefill", 4, (2, 4)), ("shift", 5), ("step", 2))))
    if "evict" in offered:
        scripts.append((1, 2, (("prefill", 8), ("evict", 2, 4), ("shift", 6), *step)))
    return fixed(*scripts, others=2)(context)


def interleaved_sessions(context: CheckContext) -> list[Session]:
    """Two requests in turns, where the cache of one changes while the other waits."""
    offered = offers(context)
    look: tuple[tuple[Any, ...], ...] = (("keys",),) if "keys" in offered else ()
    other, back = ("use", 1), ("use", 0)
    scripts: list[Script] = [
        (2, 2, (("prefill", 5), other, ("prefill", 3), back, ("step", 2), *look,
                other, ("step", 2), *look, back, ("step", 1), *look)),
        (1, 3, (("prefill", 4), ("step", 1), other, ("prefill", 40), ("step", 1), back,
                ("step", 2), ("use", 2), ("prefill", 4), back, ("step", 1), other, ("step", 1))),
        (2, 1, (("prefill", 4), other, ("prefill", 4), back, ("start",), ("prefill", 2),
                ("step", 1), other, ("step", 2), *look)),
    ]  # fmt: skip
    changes = {"evict": ("evict", 1, 3), "shift": ("shift", 6)}
    for change in (call for name, call in changes.items() if name in offered):
        scripts.append(
            (1, 2, (("prefill", 6), other, ("prefill", 6), change, back, *look, ("step", 2), *look,
                    other, *look, ("step", 2)))
        )  # fmt: skip
    return fixed(*scripts, used=1)(context)
