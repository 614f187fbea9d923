"""What RoPE is for: the score of a query and a key depends on how far apart they are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rope_ref.arguments import FloatArray, as_positions
from rope_ref.errors import HeadGroupError, RopeError, ShapeError
from rope_ref.rotation import apply_rope, as_real, rotation_matrix
from rope_ref.spec import RopeSpec, demand_spec

__all__ = ["attention_logits", "relative_logit"]


def attention_logits(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    q_positions: npt.ArrayLike,
    k_positions: npt.ArrayLike,
    spec: RopeSpec,
    *,
    axes: str,
    scale: float = 1.0,
) -> FloatArray:
    """Return the scores ``scale * rope(q) . rope(k)`` of every query with every key.

    Parameters
    ----------
    q, k
        Real arrays in the order of `axes`, each with its own number of tokens. With
        grouped heads, consecutive query heads share a key head: query head h uses key
        head ``h // (Hq / Hk)``.
    q_positions, k_positions
        As in `apply_rope`.
    spec, axes
        As in `apply_rope`.
    scale
        Factor on every score.

    Returns
    -------
    logits
        float64 of shape (B, H, Tq, Tk); an axis that `axes` lacks has length 1.

    Raises
    ------
    HeadGroupError
        If the query heads are not a multiple of the key heads.
    ShapeError
        If the batch sizes differ; and the errors of `apply_rope`.

    Notes
    -----
    Source: Su et al., RoFormer, arXiv:2104.09864, equation 16; grouped heads from
    Ainslie et al., arXiv:2305.13245.
    """
    call = f"attention_logits(q, k, q_positions, k_positions, spec, axes={axes!r})"
    queries = _rotated(q, q_positions, spec, axes, f"{call}: q")
    keys = _rotated(k, k_positions, spec, axes, f"{call}: k")
    if queries.shape[0] != keys.shape[0]:
        raise ShapeError(
            f"{call}: q has {queries.shape[0]} batch rows and k has {keys.shape[0]}; "
            "they must be equal"
        )
    heads, key_heads = queries.shape[1], keys.shape[1]
    if key_heads == 0 or heads % key_heads:
        raise HeadGroupError(
            f"{call}: q has {heads} heads and k has {key_heads}; the query heads must be a "
            "multiple of the key heads, consecutive query heads sharing a key head"
        )
    keys = np.repeat(keys, heads // key_heads, axis=1)
    return scale * (queries @ keys.swapaxes(-1, -2))


def relative_logit(
    q: npt.ArrayLike, k: npt.ArrayLike, distance: npt.ArrayLike, spec: RopeSpec
) -> float:
    """Return the score of one query and one key that stands `distance` positions after it.

    The relative form: ``(M(0) q) . (M(distance) k)`` with M the rotation matrix, whatever
    the two positions are. At amplitude 1, with one layout, M(0) is the identity and this
    is the paper's ``q^T R(n - m) k``.

    Parameters
    ----------
    q, k
        Real vectors of length D, not rotated.
    distance
        Position of the key minus position of the query; one per position axis for a
        spec with ``pair_axes``.
    spec
        The RoPE.

    Returns
    -------
    logit
        The score, unscaled.

    Raises
    ------
    ShapeError
        If `q` or `k` is not one vector; and the errors of `rotation_matrix`.

    Notes
    -----
    Source: Su et al., RoFormer, arXiv:2104.09864, equation 16.
    """
    call = "relative_logit(q, k, distance, spec)"
    demand_spec(spec, call)
    query, key = as_real(q, call, "q"), as_real(k, call, "k")
    distance = as_positions(distance, call, "distance")
    for name, vector in (("q", query), ("k", key)):
        if vector.shape != (spec.head_dim,):
            raise ShapeError(
                f"{call}: {name} must be one vector of head_dim={spec.head_dim} channels, "
                f"got shape {vector.shape}"
            )
    origin = rotation_matrix(np.zeros(np.shape(distance)), spec)
    return float(origin @ query @ (rotation_matrix(distance, spec) @ key))


def _rotated(
    x: npt.ArrayLike, positions: npt.ArrayLike, spec: RopeSpec, axes: str, call: str
) -> FloatArray:
    """`apply_rope` with the axes in the order bhtd."""
    try:
        y = apply_rope(x, positions, spec, axes=axes)
    except RopeError as error:
        raise type(error)(f"{call}: {error}") from None
    for letter in "bh":
        if letter not in axes:
            y, axes = y[None], letter + axes
    return y.transpose([axes.index(letter) for letter in "bhtd"])
