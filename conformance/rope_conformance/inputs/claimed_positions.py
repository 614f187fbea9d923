"""Which positions a claim lets tokens stand at, and those among them where RoPEs break."""

from __future__ import annotations

from rope_conformance.target.claim import Claim

__all__ = ["HOT_SPOTS", "free_positions", "positions_within"]

# Positions where something in a number type, a cache or a context length ends.
HOT_SPOTS = (
    0, 1, 2, 2**7, 2**8, 512, 2**11, 4096, 8192, 2**14, 32767, 32768, 65535, 65536, 131071, 131072,
    2**20, 2**24, 2**31,
)  # fmt: skip


def positions_within(claim: Claim) -> tuple[int, ...]:
    """The hot spots and their neighbours that the claimed range holds, smallest first."""
    low, high = claim.position_range
    spots = {s + d for s in (*HOT_SPOTS, high) for d in (-1, 0, 1)}
    spots |= {-s for s in spots}
    return tuple(sorted((s for s in spots if low <= s <= high), key=lambda s: (abs(s), s)))


def free_positions(claim: Claim) -> bool:
    """Whether tokens can stand anywhere, or only one after the other."""
    return "t" in claim.position_forms or "bt" in claim.position_forms
