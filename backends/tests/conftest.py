"""Which backends are tested, where their arrays are, and what is asserted of every result.

``ROPE_BACKENDS`` names them, separated by commas; without it those that are installed
are tested. One that cannot be used is skipped with the reason, or fails if
``ROPE_REQUIRE`` names it. A ``-cuda`` name asks for the framework on a CUDA device.
"""

import contextlib
import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from types import MethodType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import rope_backends
from rope_backends import BackendUnavailable
from rope_conformance.accuracy.profiles import profile_named
from rope_conformance.accuracy.residual import judge
from rope_ref import RopeSpec

# JAX reads this when it first looks for devices.
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    )

PACKAGES = {"strict": "array_api_strict"}
# A place is a backend and a device or mode; every test runs once in each place.
PLACES = {
    "numpy": ["numpy"],
    "strict": ["strict", "strict-device1", "strict-no_float64"],
    "torch": ["torch"],
    "torch-cuda": ["torch-cuda"],
    "jax": ["jax", "jax-second"],
    "jax-cuda": ["jax-cuda"],
    "cupy": ["cupy"],
}
ALL = ("float64", "float32", "bfloat16", "float16")
DTYPES = {
    "strict": ("float64", "float32"),
    "strict-device1": ("float64", "float32"),
    "strict-no_float64": ("float32",),
    "jax-second": ("float32",),
    "cupy": ("float64", "float32", "float16"),
}


def names(variable: str) -> list[str]:
    """The backends an environment variable lists."""
    listed = [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]
    unknown = [name for name in listed if name not in PLACES]
    if unknown:
        raise pytest.UsageError(f"{variable}: {unknown} are none of {list(PLACES)}")
    return listed


def selected() -> list[str]:
    """The backends to test."""
    chosen = names("ROPE_BACKENDS")
    if not chosen:
        installed = [n for n in rope_backends.BACKENDS if find_spec(PACKAGES.get(n, n))]
        chosen = [*installed, *names("ROPE_REQUIRE")]
    return list(dict.fromkeys(chosen))


def pytest_configure(config: pytest.Config) -> None:
    names("ROPE_REQUIRE"), names("ROPE_BACKENDS")  # a mistyped name ends the run here


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    places = [place for name in selected() for place in PLACES[name]]
    if {"bench", "dtype"} <= set(metafunc.fixturenames):
        pairs = [(place, dtype) for place in places for dtype in DTYPES.get(place, ALL)]
        metafunc.parametrize("bench, dtype", pairs, indirect=["bench"], scope="session")
    elif "bench" in metafunc.fixturenames:
        metafunc.parametrize("bench", places, indirect=True, scope="session")


def loaded(name: str) -> rope_backends.Backend:
    """The backend; if it is unavailable the test is skipped, or fails if it is required."""
    try:
        backend = rope_backends.load(name.removesuffix("-cuda"))
        if name.endswith("-cuda") and not cuda_device(backend):
            raise BackendUnavailable(f"{name}: {backend.name} finds no CUDA device")
    except BackendUnavailable as error:
        if name in names("ROPE_REQUIRE"):
            pytest.fail(f"required, but unavailable: {error}", pytrace=False)
        pytest.skip(str(error))
    return backend


def cuda_device(backend: rope_backends.Backend) -> Any:
    """The first CUDA device, or None."""
    return next((d for d in backend.devices() if "cuda" in str(d).lower()), None)


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest) -> "Bench":
    place: str = request.param
    name = next(name for name in PLACES if place in PLACES[name])
    backend = loaded(name)
    where = place.removeprefix(f"{name}-")
    if name.endswith("-cuda"):
        device = cuda_device(backend)
    elif where == "second":
        device = backend.devices()[1]
    else:
        device = next((d for d in backend.devices() if where in str(d)), backend.devices()[0])
    return Bench(backend, place, device, DTYPES.get(place, ALL))


def only(name: str) -> Any:
    """A fixture that yields one backend, where it is selected."""

    @pytest.fixture(scope="session")
    def fixture() -> rope_backends.Backend:
        if name not in selected():
            pytest.skip(f"{name} is not among the selected backends")
        return loaded(name)

    return fixture


torch_rope = only("torch")
jax_rope = only("jax")


@pytest.fixture(scope="session")
def ratio() -> Callable[..., float]:
    return largest_ratio


@pytest.fixture(scope="session")
def changed() -> Callable[..., rope_backends.Backend]:
    return with_methods


def with_methods(backend: rope_backends.Backend, **methods: Any) -> rope_backends.Backend:
    """A backend whose framework answers differently: some of its methods are replaced."""
    framework = copy.copy(backend.framework)
    for name, method in methods.items():
        assert hasattr(framework, name)
        setattr(framework, name, MethodType(method, framework))
    return rope_backends.Backend(framework)


@dataclass(frozen=True)
class Bench:
    """Arrays of one framework on one device, converted from and to NumPy without loss."""

    backend: Any
    place: str
    device: Any
    dtypes: tuple[str, ...]

    @contextlib.contextmanager
    def types(self, dtype: str) -> Iterator[None]:
        """Float64 switched on where JAX needs it, and only then."""
        if self.backend.name != "jax" or dtype != "float64":
            yield
            return
        import jax

        with jax.enable_x64(True):
            yield

    def array(self, host: np.ndarray) -> Any:
        """An array of the framework with the very bits of a NumPy array."""
        name, device = self.backend.name, self.device
        if name == "numpy":
            return host.copy()
        if name == "torch":
            import torch

            if host.dtype == ml_dtypes.bfloat16:
                bits = torch.from_numpy(host.view(np.int16).copy())
                return bits.view(torch.bfloat16).to(device)
            return torch.from_numpy(np.array(host, order="C")).to(device)
        if name == "jax":
            import jax

            array = jax.device_put(host, None if self.place == "jax" else device)
            assert array.dtype == host.dtype, "JAX without x64 counts float64 as float32"
            return array
        return self.backend.xp.asarray(host.copy(), device=device)

    def host(self, array: Any) -> np.ndarray:
        """A NumPy array with the very bits of an array of the framework."""
        if self.backend.name == "torch":
            import torch

            array = array.detach().cpu()
            if array.dtype == torch.bfloat16:
                return array.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
            return array.numpy()
        if self.backend.name == "strict":
            return np.array(np.asarray(array.to_device(self.backend.xp.Device("CPU_DEVICE"))))
        return np.array(array.get() if self.backend.name == "cupy" else array)

    def where(self, array: Any) -> Any:
        """Something equal for arrays on the same device."""
        return array.devices() if self.backend.name == "jax" else getattr(array, "device", None)

    def rotated(self, x: np.ndarray, rope: Callable[[Any], Any]) -> np.ndarray:
        """`rope` of x, asserted to keep type, dtype, device and shape and not to write to x."""
        given = self.array(x)
        y = rope(given)
        assert type(y) is type(given)
        assert y.dtype == given.dtype
        assert self.where(y) == self.where(given)
        assert tuple(y.shape) == x.shape
        assert self.host(given).tobytes() == x.tobytes(), "x was written to"
        return self.host(y)


def largest_ratio(
    y: np.ndarray,
    x: np.ndarray,
    positions: Any,
    spec: RopeSpec,
    axes: str,
    dtype: str,
    profile: str = "exact",
    limit: int = 2**31,
) -> float:
    """Largest error, as a share of what the profile allows."""
    y, x = (_bthd(array, axes) for array in (y, x))
    p = np.asarray(positions)
    chosen = replace(profile_named(profile), position_limit=limit)
    p = p if p.ndim else np.full(x.shape[1], p)
    judgement = judge(y, x, p, spec, dtype, chosen)
    assert judgement.decisive.all()
    return float(judgement.ratio.max(initial=0.0))


def _bthd(array: np.ndarray, axes: str) -> np.ndarray:
    kept = [letter for letter in "bthd" if letter in axes]
    array = array.transpose([axes.index(letter) for letter in kept])
    return array[tuple(slice(None) if letter in axes else None for letter in "bthd")]
