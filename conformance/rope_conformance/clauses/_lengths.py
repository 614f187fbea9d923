"""Which frequencies a request is served with, where they depend on its length.

Systems differ in which length counts. Each public reading is followed until an output
contradicts it; see `rope_ref.extensions.length_rules`.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from rope_conformance.accuracy.residual import judge
from rope_conformance.faults import Fault
from rope_conformance.inputs.cache_positions import CONVENTIONS, Convention
from rope_conformance.judging.context import CheckContext
from rope_conformance.target.claim import CachedKeys, Claim, LengthRule
from rope_conformance.target.frameworks import Array
from rope_ref import RopeSpec
from rope_ref.extensions import served_rule
from rope_ref.scaling import DynamicNTK, LongRoPE

__all__ = [
    "FACTS",
    "LengthHypothesis",
    "Served",
    "follows_length",
    "length_facts",
    "of_spec",
    "other_length",
    "readings",
]

Rule = DynamicNTK | LongRoPE

_ROUNDINGS = 4  # a token that was rotated again may be off by a few bounds

_FOLLOWED: tuple[LengthRule, ...] = ("forward", "row", "resets", "grows", "token")

_BLOCKS = (16, 32, 64, 128, 256)  # that lengths are rounded to

FACTS: dict[str, str] = {
    "forward": "the length of each call: its largest position plus 1",
    "resets": "the longest call, until one is shorter than the original length",
    "grows": "the longest call there has been",
    "token": "each token's own position plus 1",
    "row": "the length of each call: its largest position plus 1",
    "kept": "keep the frequencies they were rotated by",
    "renewed": "are rotated by the new frequencies",
}

_ROWS: dict[LengthRule | None, str] = {
    "forward": "the longest decides for all",
    "row": "each has the frequencies of its own length",
}


@dataclass(frozen=True)
class LengthHypothesis:
    """One way to read the calls.

    Parameters
    ----------
    convention
        What becomes of positions when tokens go.
    length_rule
        Which length sets the frequencies; None where they do not depend on it.
    cached_keys
        What becomes of keys in the cache when the frequencies change.
    """

    convention: Convention
    length_rule: LengthRule | None = None
    cached_keys: CachedKeys = "kept"


def follows_length(context: CheckContext) -> bool:
    """Whether the frequencies change while a text grows.

    A rule with a length given stays at that length, unless the claim says otherwise.
    """
    rule, claimed = context.spec.frequencies, context.claim.length_rule
    if not isinstance(rule, DynamicNTK | LongRoPE) or claimed == "configured":
        return False
    return claimed is not None or rule.length is None


def readings(context: CheckContext) -> tuple[LengthHypothesis, ...]:
    """All readings that the claim leaves open."""
    if not follows_length(context):
        return tuple(LengthHypothesis(convention) for convention in CONVENTIONS)
    claim = context.claim
    # No public system has a base of its own for each token.
    known = _FOLLOWED if isinstance(context.spec.frequencies, LongRoPE) else _FOLLOWED[:-1]
    rules = (claim.length_rule,) if claim.length_rule else known
    keys = (claim.cached_keys,) if claim.cached_keys else get_args(CachedKeys)
    return tuple(
        LengthHypothesis(convention, rule, each)
        for convention in CONVENTIONS
        for rule in rules
        for each in (keys if rule != "token" else keys[:1])  # where both are the same
    )


def length_facts(left: Collection[LengthHypothesis], claim: Claim) -> dict[str, str]:
    """What the remaining readings agree on, where the claim says nothing."""
    found = {}
    rules = {reading.length_rule for reading in left}
    lengths = {FACTS[str(rule)] for rule in rules}
    if len(lengths) == 1 and claim.length_rule is None:
        found["which length sets the frequencies"] = lengths.pop()
        if len(rules) == 1 and rules <= set(_ROWS):
            found["where rows differ in length"] = _ROWS[rules.pop()]
    keys = {FACTS[reading.cached_keys] for reading in left}
    if len(keys) == 1 and claim.cached_keys is None:
        found["when the frequencies change, cached keys"] = keys.pop()
    return found


class Served:
    """The frequencies of an object at each of its calls, under every reading.

    Attributes
    ----------
    specs
        All specs that tokens have been rotated by, the claimed one first. Tables hold indices
        into these.
    """

    def __init__(self, spec: RopeSpec) -> None:
        self.specs = [spec]
        self._now: dict[tuple[Convention, LengthRule | None], Any] = {}

    def call(
        self, reading: LengthHypothesis, positions: Array, real: Array, *, each: bool
    ) -> Array:
        """Indices of the specs that tokens are rotated by.

        Parameters
        ----------
        reading
            The reading.
        positions, real
            (B, T): where the tokens stand; which are no padding.
        each
            Whether each token is a call of its own.
        """
        tables = np.zeros(positions.shape, dtype=np.int64)
        length_rule, first = reading.length_rule, self.specs[0].frequencies
        if length_rule is None or not positions.size:
            return tables
        assert isinstance(first, DynamicNTK | LongRoPE)
        if isinstance(first, LongRoPE):  # two tables, however many lengths
            original = int(first.original_length)
            positions = np.where(positions >= original, 2 * original, positions)
        if length_rule == "token":
            for position in np.unique(positions[real]):
                tables[positions == position] = self._number(_next(first, position, "forward"))
            return tables
        if length_rule == "row":
            for part in _parts(positions, each):
                for row, own, table in zip(positions, real, tables, strict=True):
                    last = int(row[part][own[part]].max())
                    table[part] = self._number(_next(first, last, "forward"))
            return tables
        assert length_rule != "configured"
        key = reading.convention, length_rule
        rule = self._now.get(key, first)
        for part in _parts(positions, each):
            last = int(positions[:, part][real[:, part]].max())
            rule = _next(rule, last, length_rule)
            tables[:, part] = self._number(rule)
        self._now[key] = rule
        return tables

    def _number(self, rule: Rule) -> int:
        for number, spec in enumerate(self.specs):
            if spec.frequencies == rule:
                return number
        self.specs.append(replace(self.specs[0], frequencies=rule))
        return len(self.specs) - 1


def _parts(positions: Array, each: bool) -> list[slice]:
    """The tokens of each call."""
    return [slice(n, n + 1) for n in range(positions.shape[1])] if each else [slice(None)]


@lru_cache(maxsize=1024)
def _next(rule: Rule, last: int, length_rule: Literal["forward", "resets", "grows"]) -> Rule:
    """The rule for a call whose largest position is known."""
    return served_rule(rule, last, length_rule=length_rule)


def of_spec(context: CheckContext, spec: RopeSpec) -> CheckContext:
    """The same context, as if this were the spec."""
    other = copy.copy(context)
    other.spec = spec
    return other


def other_length(
    context: CheckContext,
    served: Served,
    number: int,
    x: Array,
    y: Array,
    position: int,
    lengths: Collection[int],
) -> tuple[str, Fault] | None:
    """Find the other length by whose frequencies a token (H, D) was rotated, if there is one.

    Parameters
    ----------
    context, served
        Of the check that failed.
    number
        Of the spec that it should have been rotated by.
    x, y
        The token given and returned.
    position
        Where it stands.
    lengths
        Those that may have been taken for that of its call, the right one first. What is near
        them is tried too.
    """
    first = served.specs[0].frequencies
    assert isinstance(first, DynamicNTK | LongRoPE)
    tried: list[Any] = [spec.frequencies for spec in served.specs]
    tried += [served_rule(first, n - 1) for n in dict.fromkeys(_near(lengths)) if n > 0]
    want = served.specs[number].frequencies
    for rule in dict.fromkeys(tried):
        spec = replace(served.specs[0], frequencies=rule)
        where = np.array([position])
        judgement = judge(y[None, None], x[None, None], where, spec, context.dtype, context.profile)
        fits = judgement.decisive.any() and (judgement.ratio <= _ROUNDINGS).all()
        if rule != want and fits:
            words = f"comes out by the frequencies {_of(rule)}, not {_of(want)}"
            earlier = any(rule == spec.frequencies for spec in served.specs[1:])
            return words, "cache" if earlier else "scaling"
    return None


def _near(lengths: Collection[int]) -> Iterator[int]:
    """The lengths, then one less and one more, then rounded up and down."""
    yield from lengths
    yield from (n + d for n in lengths for d in (-1, 1))
    for n in list(lengths)[:1]:
        yield from (-(-n // block) * block for block in _BLOCKS)
        yield from (n // block * block for block in _BLOCKS)


def _of(rule: Any) -> str:
    original = f"{float(rule.original_length):g}"
    if isinstance(rule, LongRoPE):
        return f"of a text {'longer than' if rule.is_long else 'of at most'} {original} tokens"
    return f"of {f'{float(rule.length):g}' if rule.length else f'at most {original}'} tokens"
