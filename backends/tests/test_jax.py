"""JAX: jitted, mapped, differentiated, over devices, and without float64."""

import numpy as np
import pytest

import rope_ref as rr

jax = pytest.importorskip("jax", reason="jax is not installed", exc_type=ImportError)
jnp = jax.numpy

SPEC = rr.RopeSpec(
    16, layout="half", rotary_dim=12, rotary_start=2, output_layout="interleaved",
    frequencies=rr.PowerLaw(5e5),
)  # fmt: skip
P = np.array([0, 1, -7, 2**31 - 1, 1 - 2**31], dtype=np.int32)
RNG = np.random.default_rng(1)
X = RNG.standard_normal((2, 5, 3, 16), dtype=np.float32)  # one shape for almost every test
ROWS = RNG.integers(1 - 2**31, 2**31, (2, 5)).astype(np.int32)


@pytest.fixture
def rope(jax_rope):
    return lambda x, p: jax_rope.apply_rope(x, p, SPEC, axes="bthd")


@pytest.mark.parametrize("p", [P, ROWS], ids=["t", "bt"])
def test_jitted(rope, ratio, p):
    y = jax.jit(rope)(X, p)
    assert y.dtype == jnp.float32
    assert ratio(np.asarray(y), X, p, SPEC, "bthd", "float32") <= 0.64


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_jitted_in_narrow_types(rope, ratio, dtype):
    x = jnp.asarray(X, dtype=dtype)
    y = jax.jit(rope)(x, P)
    assert y.dtype == x.dtype
    assert ratio(np.asarray(y), np.asarray(x), P, SPEC, "bthd", dtype) <= 1


def test_jitted_in_float64(rope, ratio):
    with jax.enable_x64(True):
        x = X.astype(np.float64)
        y = jax.jit(rope)(x, P.astype(np.int64))
        assert y.dtype == jnp.float64
        assert ratio(np.asarray(y), x, P, SPEC, "bthd", "float64") <= 0.64


def test_float64_is_a_type_only_where_it_is_switched_on(jax_rope):
    assert "float64" not in jax_rope.dtypes
    with jax.enable_x64(True):
        assert "float64" in jax_rope.dtypes


@pytest.mark.parametrize(
    "p", [[0, 2**31, 2**40 + 1, -(2**33), 5], [0.1, 2.0**24 + 1, 2.0**40 + 0.5, -1 / 3, 5]]
)
def test_positions_without_x64_are_never_cut(rope, ratio, p):
    # In 32 bits 2**40 + 1 would be 1, and 2**24 + 1 would be 2**24.
    assert not jax.config.jax_enable_x64
    for y in (rope(jnp.asarray(X), np.array(p)), jax.jit(lambda x: rope(x, np.array(p)))(X)):
        assert ratio(np.asarray(y), X, p, SPEC, "bthd", "float32", limit=2**53) <= 0.64


def test_tracer_among_positions(rope, ratio):
    y = jax.jit(lambda x, n: rope(x, [n, n + 1, n + 2, 7, n - 9]))(X, 2**30)
    p = 2**30 + np.array([0, 1, 2, 7 - 2**30, -9])
    assert ratio(np.asarray(y), X, p, SPEC, "bthd", "float32") <= 0.64


@pytest.mark.parametrize("jit", [False, True])
def test_gradient_is_the_transpose(rope, jit):
    g = np.random.default_rng(2).standard_normal(X.shape, dtype=np.float32)
    gradient = jax.grad(lambda x, p: (rope(x, p) * g).sum())
    got = (jax.jit(gradient) if jit else gradient)(X, P)
    want = rr.transpose_rope(g, P, SPEC, axes="bthd")
    np.testing.assert_allclose(got, want, rtol=0, atol=3.2 * 4 * 2**-24)


def test_vmap_over_x_and_over_positions(jax_rope, ratio):
    def one(x, p):
        return jax_rope.apply_rope(x, p, SPEC, axes="thd")

    y = jax.jit(jax.vmap(one))(X, ROWS)
    assert ratio(np.asarray(y), X, ROWS, SPEC, "bthd", "float32") <= 0.64
    y = jax.vmap(lambda x: one(x, ROWS[0]))(X)
    assert ratio(np.asarray(y), X, ROWS[0], SPEC, "bthd", "float32") <= 0.64


@pytest.mark.parametrize("traced", [True, False], ids=["traced", "constant"])
def test_jitted_call_transfers_nothing_in_silence(rope, traced):
    x, p = jax.device_put(X), jax.device_put(P)
    jitted = jax.jit(rope) if traced else jax.jit(lambda x, p: rope(x, P))
    with jax.transfer_guard("disallow"):
        jitted(x, p)  # while it is compiled
        jitted(x, p)
        with pytest.raises(jax.errors.JaxRuntimeError, match="Disallowed host-to-device"):
            jitted(X, p)  # the guard is active


def test_many_layers_share_one_table(rope):
    def layers(x, p):
        return rope(rope(rope(x, p), p), p)

    text = jax.jit(layers).lower(X, P).as_text()
    assert text.count('dense<"0x') == 1


COLLECTIVES = ("all-gather", "all-reduce", "all-to-all", "collective-permute")
SPLITS = {
    "t": ("t",),
    "b and t": ("b", "t"),
    "t of rows": (None, "t"),
    "nothing": (),
}


@pytest.fixture(params=["Auto", "Explicit"])
def mesh(request, jax_rope):
    if len(jax.devices()) < 8:
        pytest.skip(f"needs 8 devices, there are {len(jax.devices())}")
    kind = getattr(jax.sharding.AxisType, request.param)
    return jax.make_mesh((2, 4), ("b", "t"), axis_types=(kind, kind))


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_split_over_devices_with_global_positions(rope, ratio, mesh, split):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 8, 3, 16), dtype=np.float32)
    p = rng.integers(1 - 2**31, 2**31, (8,) if split == ("t",) else (2, 8)).astype(np.int32)
    place = jax.NamedSharding(mesh, jax.P("b", "t", None, None))
    xs = jax.device_put(x, place)
    ps = jax.device_put(p, jax.NamedSharding(mesh, jax.P(*split)))
    jitted = jax.jit(rope)
    compiled = jitted.lower(xs, ps).compile().as_text()
    assert not [name for name in COLLECTIVES if name in compiled]
    for y in (jitted(xs, ps), rope(xs, ps)):
        assert y.sharding.is_equivalent_to(place, 4)
        assert ratio(np.asarray(y), x, p, SPEC, "bthd", "float32") <= 0.64


def test_shard_map_with_positions_of_each_shard(rope, ratio, jax_rope):
    if len(jax.devices()) < 8:
        pytest.skip(f"needs 8 devices, there are {len(jax.devices())}")
    mesh = jax.make_mesh((8,), ("t",), axis_types=(jax.sharding.AxisType.Auto,))
    x = np.random.default_rng(4).standard_normal((2, 16, 1, 16), dtype=np.float32)

    def shard(x, start):
        here = jax.lax.axis_index("t") * x.shape[1] + jnp.arange(x.shape[1]) + start
        return rope(x, here)

    split = jax.P(None, "t")
    mapped = jax.shard_map(shard, mesh=mesh, in_specs=(split, jax.P()), out_specs=split)
    y = jax.jit(mapped)(x, 10**9)
    assert ratio(np.asarray(y), x, np.arange(16) + 10**9, SPEC, "bthd", "float32") <= 0.64
