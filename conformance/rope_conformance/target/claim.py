"""What an implementation says of itself.

Inside its claim it is judged; what it does outside is reported as a fact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rope_ref import RopeSpec

__all__ = ["Claim", "ClaimError", "claims"]

DTYPES = ("float64", "float32", "float16", "bfloat16")
_EXPECTED = {
    "axes": "each letter of 'bthd' at most once, t and d always",
    "position_forms": "some of 'none', 't', 'bt', 'offset', in a tuple",
    "position_kinds": "('integer',) or ('integer', 'real')",
    "position_range": "(smallest, largest); without positions 0 lies between",
    "dtypes": f"some of {', '.join(DTYPES)}, in a tuple",
    "devices": "at least one, in a tuple",
    "requests": "some of 'padded', 'packed', 'decoding', 'context parallel', in a tuple",
    "survives": "some of 'copy', 'save', 'cast', 'meta', 'compile', in a tuple",
    "logit_scale": "a positive number, or None",
    "length_rule": "one of 'forward', 'resets', 'grows', 'row', 'token' and 'configured', or None",
    "cached_keys": "'kept' or 'renewed', or None",
    "second_channels": "a RopeSpec, or None",
}

PositionForm = Literal["none", "t", "bt", "offset"]
PositionKind = Literal["integer", "real"]
RequestKind = Literal["padded", "packed", "decoding", "context parallel"]
Survival = Literal["copy", "save", "cast", "meta", "compile"]
LengthRule = Literal["forward", "resets", "grows", "row", "token", "configured"]
CachedKeys = Literal["kept", "renewed"]


class ClaimError(ValueError):
    """A claim with a value that does not exist, or that contradicts itself."""


@dataclass(frozen=True)
class Claim:
    """What an implementation says of itself.

    Parameters
    ----------
    axes
        The order of x's axes as letters.
    namespace
        Whose arrays it takes and returns: ``numpy``, ``strict``, ``torch``, ``jax`` or
        ``cupy``.
    position_forms
        ``t``: an array (T,); ``bt``: (B, T); ``offset``: one integer, the position of the
        first token; ``none``: no positions, always 0 to T - 1.
    position_range
        Smallest and largest position.
    position_kinds
        ``integer``, and ``real`` if it takes fractions.
    dtypes, devices
        The types of data it takes and returns, and where it does.
    table_dtype
        For the surface `rotate`: the type its tables come in; None stands for ``float64``
        with float64 data and ``float32`` otherwise.
    profile
        Its accuracy, by name; None stands for ``float64`` on float64 data and
        ``float32`` otherwise.
    empty, strided
        Whether it takes arrays without tokens, and views that are not contiguous, of data
        and of positions.
    in_place
        Whether it writes the result into x.
    gradient
        Whether it can be differentiated by its framework. None: it is judged if it can.
    logit_scale
        For the surface `logits`: the factor on every score. None: 1 or ``1/sqrt(D)``,
        whichever it is.
    requests
        For the surface `positions`: the kinds of request it answers.
    survives
        What an object is still right after: ``copy`` (a deep copy), ``save`` (pickled and loaded),
        ``cast`` (its method ``to`` with a half-precision type), ``meta`` (made on torch's
        meta device, then materialised and loaded), ``compile`` (torch.compile, jax.jit).
        ``copy``, ``save`` and ``cast`` are closed where an object has no such thing.
    length_rule
        For the surface `decode`, where frequencies depend on the length of the text: which
        length counts. ``forward``, ``resets``, ``grows`` and ``configured`` as in
        `rope_ref.extensions.served_rule`; ``row``: that of each row of the batch by itself,
        as it is in this call; ``token``: that of each token by itself. None: any of these, as
        long as it is one; a rule that was given a length is ``configured``.
    cached_keys
        What becomes of cached keys when the frequencies change: they are ``kept`` as they
        are, or ``renewed`` by the new ones. None: either.
    second_channels
        For a map that is declared to be no rotation: the RoPE that gives the second channel
        of each pair, as the spec gives the first (`rope_ref.extensions.apply_channel_ropes`). It is
        judged by that definition, and by no clause that holds for rotations only.
    accepts
        For a factory: whether it can be made for a spec; a string says why not.
    """

    axes: str = "bthd"
    namespace: str = "numpy"
    position_forms: tuple[PositionForm, ...] = ("t",)
    position_range: tuple[int, int] = (0, 2**20)
    position_kinds: tuple[PositionKind, ...] = ("integer",)
    dtypes: tuple[str, ...] = ("float32",)
    devices: tuple[str, ...] = ("cpu",)
    table_dtype: str | None = None
    profile: str | None = None
    empty: bool = False
    strided: bool = False
    in_place: bool = False
    gradient: bool | None = None
    logit_scale: float | None = None
    requests: tuple[RequestKind, ...] = get_args(RequestKind)
    survives: tuple[Survival, ...] = ("copy", "save", "cast")
    length_rule: LengthRule | None = None
    cached_keys: CachedKeys | None = None
    second_channels: RopeSpec | None = None
    accepts: Callable[[RopeSpec], bool | str] | None = None

    def __post_init__(self) -> None:
        low, high = self.position_range
        wrong = {
            "axes": len(set(self.axes)) != len(self.axes)
            or not {"t", "d"} <= set(self.axes) <= set("bthd"),
            "position_forms": not self.position_forms
            or not set(self.position_forms) <= set(get_args(PositionForm)),
            "position_kinds": "integer" not in self.position_kinds
            or not set(self.position_kinds) <= set(get_args(PositionKind)),
            "position_range": low > high
            or (self.position_forms == ("none",) and not low <= 0 <= high),
            "dtypes": not self.dtypes or not set(self.dtypes) <= set(DTYPES),
            "devices": not self.devices,
            "requests": not set(self.requests) <= set(get_args(RequestKind)),
            "survives": not set(self.survives) <= set(get_args(Survival)),
            "length_rule": self.length_rule not in (None, *get_args(LengthRule)),
            "cached_keys": self.cached_keys not in (None, *get_args(CachedKeys)),
            "second_channels": not isinstance(self.second_channels, RopeSpec | None),
            "logit_scale": self.logit_scale is not None and not self.logit_scale > 0,
        }
        for name, bad in wrong.items():
            if bad:
                raise ClaimError(f"Claim({name}={getattr(self, name)!r}): {_EXPECTED[name]}")


def claims(**what: Any) -> Callable[[Any], Any]:
    """Decorate a function or class with a `Claim` made of the keywords given."""
    claim = Claim(**what)

    def decorate(target: Any) -> Any:
        target.claim = claim
        return target

    return decorate
