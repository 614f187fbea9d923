"""The rotation in a graph that torch compiles: one node, and its table as a constant."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from rope_backends.exact_rows import exact_rows
from rope_ref import RopeSpec

__all__ = ["as_one_node"]

# A framework, from the exact rows that a graph holds, or from None if it holds none.
MakeFramework = Callable[[torch.Tensor | None], Any]


def as_one_node(
    function: Callable[..., Any],
    make_framework: MakeFramework,
    x: Any,
    positions: Any,
    spec: RopeSpec,
    axes: str,
) -> Any:
    """Call `function` as one node of the graph that is being compiled.

    Parameters
    ----------
    function
        Called as ``function(x, positions, spec, axes=axes, framework=...)``.
    make_framework
        Makes that framework from the exact rows that the graph holds.
    x, positions, spec, axes
        As in `Backend.apply_rope`.
    """
    table = None
    traced = isinstance(positions, torch.Tensor | np.ndarray | int)
    # An exported program may refer to no tensor of ours: the table is made inside it.
    if traced and not torch.compiler.is_exporting():
        table = _constant_table(spec, x.dtype, x.device)
    return _node(x, positions, table, _number(function, make_framework, spec), axes)


_CALLS: list[tuple[Callable[..., Any], MakeFramework, RopeSpec]] = []


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _number(function: Callable[..., Any], make_framework: MakeFramework, spec: RopeSpec) -> int:
    """A number that stands for these three: a node takes tensors, numbers and strings only."""
    call = (function, make_framework, spec)
    if call not in _CALLS:
        _CALLS.append(call)
    return _CALLS.index(call)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _constant_table(spec: RopeSpec, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """The exact rows as a constant of the graph: one tensor, however often it is used."""
    return _placed(spec, "float64" if dtype == torch.float64 else "float32", device)


@lru_cache(maxsize=8)
def _placed(spec: RopeSpec, dtype: str, device: torch.device) -> torch.Tensor:
    table = torch.asarray(exact_rows(spec, dtype), device=device)
    # The shape of a parameter is fixed; that of any other tensor may become a variable.
    return torch.nn.Parameter(table, requires_grad=False)


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def _node(x: Any, positions: Any, table: Any, number: int, axes: str) -> Any:
    """The whole rotation, which the front end of the compiler does not look into.

    It runs as ordinary Python on fake tensors, and the operations it calls are compiled.
    """
    function, make_framework, spec = _CALLS[number]
    return function(x, positions, spec, axes=axes, framework=make_framework(table))
