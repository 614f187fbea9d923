"""What torch and JAX do to an object: casts, saved states, ambient types, meta device, compilers.

Each framework is imported by the functions that need it.
"""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from rope_conformance.clauses._arrays import same_numbers
from rope_conformance.clauses._objects import fresh, own_copy, rotate
from rope_conformance.inputs.cases import Case
from rope_conformance.judging.context import CheckContext
from rope_conformance.judging.failures import CheckFailure, TargetRaised

COMPILERS = ("torch", "jax")


def cast(context: CheckContext, made: Any, dtype: str) -> Any:
    """Cast as the framework does: in place where nothing is returned."""
    kind: Any = dtype
    if context.claim.namespace == "torch":
        import torch

        kind = getattr(torch, dtype)
    result = made.to(kind)
    return made if result is None else result


def there_and_back(context: CheckContext, case: Case) -> None:
    """What a cast to half precision and back to float32 leaves behind: a fact, no verdict."""
    what = f"a cast to {context.dtype} and back"
    before = rotate(context, fresh(context), case, "float32")
    made = cast(context, own_copy(context), context.dtype)
    try:
        after = rotate(context, cast(context, made, "float32"), case, "float32")
    except (CheckFailure, TargetRaised) as error:
        context.evidence.facts[what] = f"rounds or breaks it: {error}"
        return
    if same_numbers(before, after).all():
        context.evidence.facts[what] = "changes nothing"
        return
    size = np.abs(before.astype(np.float64) - after.astype(np.float64)).max()
    context.evidence.facts[what] = (
        f"rounds what it holds: results in float32 differ by up to {size:.3g}"
    )


def has_state_dict(made: Any) -> bool:
    """Whether an object is saved and loaded as torch's modules are."""
    return all(callable(getattr(made, m, None)) for m in ("state_dict", "load_state_dict"))


def load_state(new: Any, made: Any) -> Any:
    """Give a new object the state of another, through bytes."""
    import torch

    buffer = io.BytesIO()
    torch.save(made.state_dict(), buffer)
    buffer.seek(0)
    new.load_state_dict(torch.load(buffer, weights_only=True))
    return new


# Where the default types are changed


@contextlib.contextmanager
def default_type(name: str) -> Iterator[None]:
    """Let torch make floating-point tensors of another type."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, name))
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def autocast(device: str) -> Iterator[None]:
    """Let torch multiply matrices in bfloat16."""
    import torch

    with torch.autocast(device.partition(":")[0], dtype=torch.bfloat16):
        yield


def under_autocast(context: CheckContext, made: Any) -> SimpleNamespace:
    """The same object, called under autocast; what comes out has the type of x."""
    name, function = _rotating(context, made)

    def call(x: Any, *rest: Any) -> Any:
        with autocast(context.device):
            y = function(x, *rest)
        return y.to(x.dtype) if hasattr(y, "to") else y

    return SimpleNamespace(**{name: call})


# The meta device


def through_meta(make: Callable[[], Any], device: str, garbage: float) -> Any:
    """Make an object without memory, give it some that is full of `garbage`, and load it.

    The order is torch's own: ``to_empty``, ``reset_parameters`` wherever there is one,
    ``load_state_dict`` with what an object that was made normally would have saved.
    """
    import torch

    normal = make()
    with torch.device("meta"):
        made = make()
    if not isinstance(made, torch.nn.Module):
        raise CheckFailure(f"claims 'meta', but {type(made).__name__} is no torch.nn.Module")
    made.to_empty(device=device)
    with torch.no_grad():
        for tensor in (*made.parameters(), *made.buffers()):
            whole = not (tensor.is_floating_point() or tensor.is_complex())
            tensor.fill_(1 if whole else garbage)
    for module in made.modules():
        if callable(reset := getattr(module, "reset_parameters", None)):
            reset()
        if callable(initialise := getattr(made, "_init_weights", None)):
            initialise(module)
    made.load_state_dict(normal.state_dict(), strict=False)
    return made


# Compilers


def compiled(context: CheckContext, made: Any) -> SimpleNamespace:
    """The same object with what rotates compiled."""
    name, function = _rotating(context, made)
    if context.claim.namespace == "jax":
        import jax

        return SimpleNamespace(**{name: jax.jit(function)})
    import torch

    # Programs of earlier checks would count against the limit beyond which nothing is compiled.
    torch.compiler.reset()
    program = torch.compile(function, dynamic=None, backend=_torch_backend(context.device))
    return SimpleNamespace(**{name: lambda *arguments: program(*arguments)})


def _rotating(context: CheckContext, made: Any) -> tuple[str, Callable[..., Any]]:
    """What rotates: the name of its surface's method, and itself."""
    name = "apply_rope" if context.implementation.has("apply") else "apply_cos_sin"
    return name, getattr(made, name, made)


@functools.cache
def _torch_backend(device: str) -> str:
    """Torch's default compiler, or without its toolchain (a C++ compiler) what needs none."""
    import torch

    def twice(x: Any) -> Any:
        return x + x

    try:
        torch.compile(twice)(torch.zeros(2, device=device))
    except Exception:
        return "aot_eager"
    return "inductor"
