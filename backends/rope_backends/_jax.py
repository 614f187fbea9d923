"""JAX: tracers, devices that arrays may or may not be committed to, float64 on request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from rope_backends.exact_rows import exact_rows
from rope_backends.framework import Framework
from rope_ref import RopeSpec

__all__ = ["JaxFramework", "framework"]


class JaxFramework(Framework):
    """JAX arrays.

    Without ``jax_enable_x64`` a JAX array holds 32 bits. Concrete positions that are no
    JAX array are therefore never made one, so that int64 and float64 keep all their bits.
    A JAX array has the bits it has; so has an argument that ``jax.jit`` has converted.
    """

    name = "jax"
    xp = jnp
    array_type = jax.Array

    @property
    def dtypes(self) -> Mapping[str, Any]:
        """The dtypes of data that can be rotated, by name; float64 where JAX has it enabled."""
        names = ["float32", "bfloat16", "float16"]
        if jax.config.jax_enable_x64:
            names.insert(0, "float64")
        return {name: jnp.dtype(name) for name in names}

    def devices(self) -> list[Any]:
        """The devices of the default platform, and the CPU's where JAX may use it."""
        try:
            return list(dict.fromkeys([*jax.devices(), *jax.devices("cpu")]))
        except RuntimeError:  # JAX_PLATFORMS leaves the CPU out
            return list(jax.devices())

    def device(self, x: Any) -> Any:
        """The device `x` is committed to; None where JAX decides, so that the table follows `x`."""
        if isinstance(x, jax.core.Tracer) or not x.committed or len(x.devices()) > 1:
            return None
        return x.device

    def place(self, host: npt.NDArray[Any], device: Any) -> Any:
        """A NumPy array as a JAX array."""
        # An explicit transfer, which jax.transfer_guard("disallow") lets through.
        return jax.device_put(host, device)

    def concrete(self, positions: Any) -> npt.NDArray[Any] | None:
        """Positions as a NumPy array; None if any of them is a tracer."""
        leaves = jax.tree.leaves(positions)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return None
        return np.asarray(positions)

    def traced_array(self, positions: Any, device: Any) -> Any:
        """Traced positions as one array."""
        return jnp.asarray(positions)

    def take_rows(self, table: Any, index: Any) -> Any:
        """``table[index]``."""
        # No reshape: an index that is split over devices would be gathered on each of them.
        split = jax.typeof(index).sharding
        if not any(split.spec):
            return table.at[index].get(mode="promise_in_bounds")
        # Where shardings are part of types (explicit mesh axes) they must be written down.
        rows = jax.NamedSharding(split.mesh, jax.P(*split.spec, None))
        return table.at[index].get(mode="promise_in_bounds", out_sharding=rows)

    def exact_table(self, spec: RopeSpec, dtype: str, device: Any) -> Any:
        """The exact rows on a device, one array for all calls."""
        return _exact_table(spec, dtype, device)


@lru_cache(maxsize=8)
def _exact_table(spec: RopeSpec, dtype: str, device: Any) -> jax.Array:
    # A program that rotates in every layer then holds one table.
    with jax.ensure_compile_time_eval():
        return jax.device_put(exact_rows(spec, dtype), device)


def framework() -> Framework:
    """Return the framework."""
    return JaxFramework()
