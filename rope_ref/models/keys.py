"""Reading the values of a configuration one key at a time, so that none is overlooked."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import numpy as np

from rope_ref.arguments import POSITION_LIMIT, brief
from rope_ref.errors import ConfigTypeError, ConfigValueError, MissingConfigKeyError

__all__ = [
    "LARGEST_COUNT",
    "LARGEST_HEAD",
    "ABOUT_ROPE",
    "Keys",
    "Number",
]

Number = int | float

LARGEST_HEAD = 4096
"""The widest head accepted, in channels; models have up to some hundreds."""

LARGEST_COUNT = 2**20
"""The largest number of channels, heads or pairs accepted."""

ABOUT_ROPE = re.compile(
    r"(?:^|[^a-z])(?:m|x|xd|i|p|ym)?rope|rotary|rotat|theta|yarn|(?:^|_)ntk|inv_freq|mscale"
    r"|original_max_position",
    re.IGNORECASE,
)
"""Found in the keys about RoPE of whatever system."""


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # nested too deep, or values of a class that cannot be compared
        return False


class Keys:
    """A mapping of a configuration that remembers which of its keys were read.

    A key whose value is None (JSON's null) counts as missing.

    Parameters
    ----------
    values
        The mapping.
    call
        What the caller called, for messages.
    where
        The name of the mapping, for messages; empty for the configuration itself.

    Raises
    ------
    ConfigTypeError
        If `values` is no mapping, or has a key that is not a string.
    """

    def __init__(self, values: object, call: str, where: str = "") -> None:
        self.call = call
        self.where = where
        if not isinstance(values, Mapping):
            name = where or "the configuration"
            raise ConfigTypeError(
                f"{call}: {name} must be a mapping of keys to values, got {brief(values)}"
            )
        for key in values:
            if not isinstance(key, str):
                raise ConfigTypeError(
                    f"{call}: a key of {where or 'the configuration'} must be a string, "
                    f"got {brief(key)}"
                )
        self._values: Mapping[str, object] = values
        self._read: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        """The keys that have a value."""
        return (key for key, value in self._values.items() if value is not None)

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def forget(self, key: str) -> None:
        """Let a key count as unread again."""
        self._read.discard(key)

    def part(self, key: str) -> Mapping[object, object] | None:
        """A mapping inside, which does not count as read."""
        value = self._values.get(key)
        return value if isinstance(value, Mapping) else None

    def is_empty(self) -> bool:
        """Whether there is no key at all, not even one without a value."""
        return not self._values

    def same(self, other: Keys) -> bool:
        """Whether another mapping has the same content."""
        return _equal(self._values, other._values)

    def agrees(self, key: str, other: Keys) -> bool:
        """Whether another mapping has the same value under a key."""
        return _equal(self._values.get(key), other._values.get(key))

    def has_null(self, key: str) -> bool:
        """Whether a key is there, without a value."""
        return key in self._values and self._values[key] is None

    def nested(self, kinds: set[str], single: frozenset[str]) -> list[str]:
        """The keys with a mapping inside, and those of certain names without a value.

        Keys in `single` never have one.
        """
        return [
            key
            for key, value in self._values.items()
            if key not in single
            if isinstance(value, Mapping) or (value is None and key in kinds)
        ]

    def unread(self) -> list[str]:
        """The keys that have a value which nothing has asked for."""
        return [key for key in self if key not in self._read]

    def name(self, key: str) -> str:
        """How messages call a key."""
        return f"{self.where}[{brief(key)}]" if self.where else f"{key!r}"

    def take(self, key: str) -> object:
        """The value of a key, or None."""
        self._read.add(key)
        return self._values.get(key)

    def head_dim(self, width: int) -> int:
        """The width of a head, if it is one."""
        if width > LARGEST_HEAD:
            raise ConfigValueError(
                f"{self.call}: heads of {width} channels are too wide; at most {LARGEST_HEAD} are "
                "accepted"
            )
        return width

    def need(self, key: str, what: str) -> None:
        """Refuse a mapping without this key."""
        if key not in self:
            raise MissingConfigKeyError(
                f"{self.call}: {self.name(key)} is missing, {what}; give it a value"
            )

    def mapping(self, key: str) -> Keys | None:
        """A mapping inside this one."""
        value = self.take(key)
        where = self.name(key) if self.where else key
        return None if value is None else Keys(value, self.call, where)

    def text(self, key: str) -> str | None:
        """A string."""
        value = self.take(key)
        if value is None or isinstance(value, str):
            return value
        raise self.wrong(key, "must be a string", value, ConfigTypeError)

    def flag(self, key: str) -> bool | None:
        """True or False."""
        value = self.take(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.wrong(key, "must be true or false", value, ConfigTypeError)

    def width(self, key: str) -> int | None:
        """A number of channels or heads."""
        value = self.take(key)
        return None if value is None else self._whole(key, value, 1)

    def either_width(self, *names: str) -> int | None:
        """A number of channels or heads that goes by several names."""
        found = {key: width for key in names if (width := self.width(key)) is not None}
        if len(set(found.values())) > 1:
            given = ", ".join(f"{key} {width}" for key, width in found.items())
            raise ConfigValueError(f"{self.call}: {given} mean the same and differ; leave one out")
        return next(iter(found.values()), None)

    def first_width(self, key: str) -> int | None:
        """A number of heads; of a list with one for each layer, the first that is not 0."""
        value = self.take(key)
        if value is None or isinstance(value, numbers.Number):
            return self.width(key)
        found = (self._whole(key, item, 0) for item in self._list(key, value))
        first = next((count for count in found if count), None)
        if first is None:
            raise self.wrong(key, "must have a number above 0", value)
        return first

    def number(self, key: str) -> Number | None:
        """A finite number."""
        value = self.take(key)
        return None if value is None else self._number(key, value)

    def positive(self, key: str) -> Number | None:
        """A finite number above 0."""
        value = self.number(key)
        if value is not None and value <= 0:
            raise self.wrong(key, "must be above 0", value)
        return value

    def length(self, key: str) -> Number | None:
        """A number of positions."""
        value = self.positive(key)
        if value is not None and value >= POSITION_LIMIT:
            raise self.wrong(key, "must be a number of positions below 2**53", value)
        return value

    def numbers(self, key: str, count: int) -> tuple[Number, ...] | None:
        """A list of finite numbers above 0, of a length known beforehand."""
        value = self.take(key)
        if value is None:
            return None
        items = self._list(key, value)
        if len(items) != count:
            what = f"must hold {count} numbers, one for each pair that rotates"
            raise self.wrong(key, f"{what}, but holds {len(items)}", value)
        found = tuple(self._number(key, item) for item in items)
        if any(each <= 0 for each in found):
            raise self.wrong(key, "must hold numbers above 0", value)
        return found

    def strings(self, key: str) -> set[str]:
        """The strings in a list, each once; nothing else is asked of the list."""
        value = self.take(key)
        items = value if isinstance(value, list | tuple) else ()
        return {item for item in items if isinstance(item, str)}

    def counts(self, key: str) -> tuple[int, ...] | None:
        """A short list of whole numbers from 0 on."""
        value = self.take(key)
        if value is None:
            return None
        items = self._list(key, value)
        if len(items) > 16:
            raise self.wrong(key, "must be a list of a few numbers, one for each axis", value)
        return tuple(self._whole(key, item, 0) for item in items)

    def wrong(
        self,
        key: str,
        must: str,
        value: object,
        error: type[ConfigTypeError] | type[ConfigValueError] = ConfigValueError,
    ) -> ConfigTypeError | ConfigValueError:
        """The error for a value that cannot be used."""
        return error(f"{self.call}: {self.name(key)} {must}, got {brief(value)}")

    def _list(self, key: str, value: object) -> Sequence[object]:
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = value.tolist()
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return value
        raise self.wrong(key, "must be a list of numbers", value, ConfigTypeError)

    def _whole(self, key: str, value: object, least: int) -> int:
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            raise self.wrong(key, "must be a whole number", value, ConfigTypeError)
        whole = int(value)
        if not least <= whole <= LARGEST_COUNT:
            raise self.wrong(key, f"must lie between {least} and {LARGEST_COUNT}", whole)
        return whole

    def _number(self, key: str, value: object) -> Number:
        if not isinstance(value, numbers.Real | Decimal) or isinstance(value, bool):
            raise self.wrong(key, "must be a number", value, ConfigTypeError)
        try:
            rounded = float(value)
        except (OverflowError, ValueError):  # the latter for a signalling NaN
            rounded = float("inf")
        if not abs(rounded) < float("inf"):  # NaN as well
            raise self.wrong(key, "must be a finite number that float64 can hold", value)
        return int(value) if isinstance(value, numbers.Integral) else rounded
