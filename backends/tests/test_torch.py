"""torch: compiled, mapped, differentiated, exported, and without values."""

import shutil

import numpy as np
import pytest

import rope_ref as rr

torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

SPEC = rr.RopeSpec(
    16, layout="half", rotary_dim=12, rotary_start=2, output_layout="interleaved",
    frequencies=rr.PowerLaw(5e5),
)  # fmt: skip
P = np.array([0, 1, -7, 2**31 - 1, 1 - 2**31])
ROWS = np.random.default_rng(1).integers(1 - 2**31, 2**31, (3, 7))


@pytest.fixture
def rope(torch_rope):
    torch._dynamo.reset()
    return lambda x, p: torch_rope.apply_rope(x, p, SPEC, axes="bthd")


def data(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def transposed(g, p):
    return rr.transpose_rope(g.numpy(), p, SPEC, axes="bthd")


@pytest.mark.parametrize("dynamic", [None, False, True])
def test_compiled_in_one_graph(rope, ratio, dynamic):
    compiled = torch.compile(rope, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for x, p in ((data(2, 5, 3, 16), P), (data(3, 7, 2, 16), ROWS), (data(2, 5, 3, 16), P[::-1])):
        y = compiled(x, torch.from_numpy(p.copy()))
        assert ratio(y.numpy(), x.numpy(), p, SPEC, "bthd", "float32") <= 0.64


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_compiled_in_every_type(rope, ratio, dtype):
    x = data(2, 5, 3, 16).to(getattr(torch, dtype))
    y = torch.compile(rope, backend="aot_eager", fullgraph=True)(x, torch.from_numpy(P))
    assert y.dtype == x.dtype
    assert ratio(y.double().numpy(), x.double().numpy(), P, SPEC, "bthd", dtype) <= 1


def test_one_compilation_serves_all_lengths(rope):
    compilations = []

    def count(graph, inputs):
        compilations.append(1)
        return graph.forward

    compiled = torch.compile(rope, backend=count, fullgraph=True, dynamic=True)
    for length in (5, 6, 9, 31):
        compiled(data(2, length, 3, 16), torch.arange(length))
    assert len(compilations) == 1


POSITIONS = {
    "tensor": torch.from_numpy(P),
    "int32": torch.from_numpy(P).int(),
    "numpy": P,
    "list": P.tolist(),
    "number": 1234567,
    "real number": 0.5,
    "real list": [0.5, 1e6 + 0.25, 3, 4, 5],
}


@pytest.mark.parametrize("p", POSITIONS.values(), ids=POSITIONS)
def test_compiled_over_positions_of_every_form(rope, ratio, p):
    x = data(2, 5, 3, 16)
    y = torch.compile(lambda x: rope(x, p), backend="aot_eager", fullgraph=True)(x)
    assert ratio(y.numpy(), x.numpy(), p, SPEC, "bthd", "float32") <= 0.64


def test_compiled_with_an_offset_that_changes(rope, ratio):
    compiled = torch.compile(rope, backend="aot_eager", fullgraph=True)
    x = data(2, 1, 3, 16)
    for offset in (3, 4, 5, 10**9):
        y = compiled(x, offset)
        assert ratio(y.numpy(), x.numpy(), offset, SPEC, "bthd", "float32") <= 0.64


# inductor uses what torch itself has deprecated
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.skipif(not shutil.which("g++"), reason="inductor needs g++")
def test_compiled_by_inductor(rope, ratio):
    x, p = data(2, 5, 3, 16), torch.from_numpy(P)
    y = torch.compile(rope, fullgraph=True)(x, p)
    assert ratio(y.numpy(), x.numpy(), P, SPEC, "bthd", "float32") <= 0.64


@pytest.mark.parametrize("how", ["eager", "compiled", "torch.func", "compiled torch.func"])
def test_gradient_is_the_transpose(rope, how):
    x, g, p = data(2, 5, 3, 16), data(2, 5, 3, 16, seed=1), torch.from_numpy(P)

    def loss(x, p):
        return (rope(x, p) * g).sum()

    if "func" in how:
        gradient = torch.func.grad(loss)
        if "compiled" in how:
            gradient = torch.compile(gradient, backend="aot_eager", fullgraph=True)
        got = gradient(x, p)
    else:
        x.requires_grad_()
        forward = torch.compile(loss, backend="aot_eager", fullgraph=True)
        (forward if how == "compiled" else loss)(x, p).backward()
        got = x.grad
    # 3.2 units, as for the rotation: at most 4 r here
    np.testing.assert_allclose(got, transposed(g, P), rtol=0, atol=3.2 * 4 * 2**-24)


def test_second_derivatives_agree_with_differences(rope):
    x = data(1, 2, 1, 16).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rope(x, [3, 1000]), x)


@pytest.mark.parametrize("compiled", [False, True])
def test_vmap_over_x_and_over_positions(torch_rope, ratio, compiled):
    torch._dynamo.reset()
    x, p = data(3, 7, 2, 16), torch.from_numpy(ROWS)

    def one(x, p):
        return torch_rope.apply_rope(x, p, SPEC, axes="thd")

    both, first = torch.func.vmap(one), torch.func.vmap(one, in_dims=(0, None))
    if compiled:
        both = torch.compile(both, backend="aot_eager", fullgraph=True)
        first = torch.compile(first, backend="aot_eager", fullgraph=True)
    assert ratio(both(x, p).numpy(), x.numpy(), ROWS, SPEC, "bthd", "float32") <= 0.64
    assert ratio(first(x, p[0]).numpy(), x.numpy(), ROWS[0], SPEC, "bthd", "float32") <= 0.64


@pytest.mark.parametrize("p", [P, torch.from_numpy(P), torch.from_numpy(P).to("meta")])
def test_meta_device_touches_no_value(rope, p):
    y = rope(data(2, 5, 3, 16).to("meta"), p)
    assert (y.device.type, y.shape, y.dtype) == ("meta", (2, 5, 3, 16), torch.float32)


@pytest.mark.parametrize("strict", [False, True])
def test_exported_program(rope, ratio, strict):
    class Layer(torch.nn.Module):
        def forward(self, x, p):
            return rope(x, p)

    x, p = data(2, 5, 3, 16), torch.from_numpy(P)
    program = torch.export.export(Layer(), (x, p), strict=strict)
    y = program.module()(x, p)
    assert ratio(y.numpy(), x.numpy(), P, SPEC, "bthd", "float32") <= 0.64


def test_fake_tensors_leave_nothing_behind(rope, ratio):
    from torch._subclasses.fake_tensor import FakeTensorMode

    x, p = data(2, 5, 3, 16), torch.from_numpy(P)
    with FakeTensorMode() as mode:
        for positions in (mode.from_tensor(p), P.tolist()):
            assert rope(mode.from_tensor(x), positions).shape == x.shape
    y = torch.func.vmap(lambda x, p: rope(x[None], p)[0])(x, p.expand(2, 5))
    assert ratio(y.numpy(), x.numpy(), P, SPEC, "bthd", "float32") <= 0.64


def test_compiled_out_of_range_is_nan(rope):
    compiled = torch.compile(rope, backend="aot_eager", fullgraph=True)
    y = compiled(data(2, 5, 3, 16), torch.tensor([0, 2**31, 2**40, -(2**31) - 1, 5]))
    assert y.isnan().all(dim=0).any(dim=(1, 2)).tolist() == [False, True, True, True, False]


def test_compiled_refuses_what_does_not_fit(rope):
    compiled = torch.compile(rope, backend="aot_eager", fullgraph=True, dynamic=True)
    with pytest.raises(Exception, match="do not fit x of shape"):
        compiled(data(2, 5, 3, 16), torch.arange(4))
