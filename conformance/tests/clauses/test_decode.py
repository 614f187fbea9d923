"""Objects that keep a cache: honest ones pass, in every type, order of axes and framework."""

import pytest

import rope_conformance as rc
from rope_conformance.clauses import all_checks
from rope_conformance.zoo.parts.cached import Request
from rope_ref import RopeSpec

CHECKS = {c.name.partition(".")[2]: c for c in all_checks() if c.name.startswith("decode.")}
SPEC = RopeSpec(64, layout="half")
WIDE = rc.Claim(position_range=(-(2**20), 2**20), empty=True)


@pytest.mark.parametrize("name", [n for n in CHECKS if CHECKS[n].fixed])
def test_every_fixed_session_is_inside_a_wide_claim(
    name, context_of, exact_request, exact_sessions
):
    """None is dropped unseen because it breaks the contract."""
    for target in (exact_request, exact_sessions):
        context = context_of(target, claim=WIDE)
        if CHECKS[name].clause.opened_by(context) is None:
            made = CHECKS[name].fixed(context)
            assert made == CHECKS[name].fixed_inputs(context)
            assert len(set(made)) == len(made) >= 5


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("closes", [False, True])
def test_the_reference_serves_requests_as_exactly_as_can_be(
    dtype, closes, decode_verdicts, exact_request
):
    """With either convention, in every type, by the tightest profile."""
    target = type("Exact", (exact_request,), {"closes": closes})
    claim = rc.Claim(dtypes=(dtype,), profile="exact", position_forms=("t", "bt"), empty=True)
    results = decode_verdicts(target, claim=claim)
    closed = {name for name, result in results.items() if result.verdict == "not claimed"}
    assert closed == {"sessions"}
    assert {r.verdict for n, r in results.items() if n not in closed} == {"passed"}, results


@pytest.mark.parametrize("axes", ["bhtd", "tbhd", "thd", "htd", "td"])
def test_the_reference_serves_requests_in_any_order_of_axes(axes, decode_verdicts, exact_request):
    """Without a batch axis there are no rows to have lengths of their own."""
    target = type("Exact", (exact_request,), {"axes": axes})
    results = decode_verdicts(target, claim=rc.Claim(axes=axes, position_forms=("t", "bt")))
    closed = {name for name, result in results.items() if result.verdict == "not claimed"}
    assert closed == ({"sessions"} if "b" in axes else {"sessions", "rows"})
    assert {r.verdict for n, r in results.items() if n not in closed} == {"passed"}, results


def test_the_reference_serves_several_requests_at_once(decode_verdicts, exact_sessions):
    """Every clause is open to an object that returns sessions and offers all else."""
    results = decode_verdicts(exact_sessions)
    assert {result.verdict for result in results.values()} == {"passed"}, results


@pytest.mark.parametrize("high", [40, 66, 130, 2047])
def test_a_short_range_of_positions_leaves_enough_to_look_at(high, decode_verdicts):
    """Nothing is left without evidence, and no position outside is met."""

    class Short(Request):
        def rotated(self, x, positions):
            assert positions.size == 0 or 0 <= positions.min() <= positions.max() <= high
            return super().rotated(x, positions)

    for width in (2, 64):
        spec = RopeSpec(width, layout="interleaved")
        results = decode_verdicts(Short, spec=spec, claim=rc.Claim(position_range=(0, high)))
        closed = {name for name, result in results.items() if result.verdict == "not claimed"}
        assert closed == {"sessions"} | ({"long"} if high < 66 else set())
        assert {r.verdict for n, r in results.items() if n not in closed} == {"passed"}, results


@pytest.mark.parametrize("span", [(1, 100), (0, 39), (-50, 20)])
def test_a_request_needs_positions_from_zero(span, decode_verdicts):
    """Otherwise the clauses are not claimed, in words."""
    for result in decode_verdicts(Request, claim=rc.Claim(position_range=span)).values():
        assert (result.verdict, result.reason) == ("not claimed", "needs positions from 0 to 40")


def test_an_object_that_writes_into_x_may_keep_it_as_its_cache(decode_verdicts):
    """If it claims to work in place."""

    class InPlace(Request):
        def prefill(self, x, lengths=None):
            x[...] = super().prefill(x, lengths)

        def step(self, x):
            self.prefill(x)

        def apply_rope(self, x, positions):
            x[...] = self.rotated(x, positions)

    results = decode_verdicts(InPlace, claim=rc.Claim(in_place=True))
    assert {r.verdict for r in results.values()} == {"passed", "not claimed"}, results
    unclaimed = decode_verdicts(InPlace, "prefill", claim=rc.Claim())
    assert unclaimed.verdict == "failed"


def test_torch_objects_are_judged(decode_verdicts):
    """Tensors go in, lengths included, and come out."""
    torch = pytest.importorskip("torch")

    class Torch(torch.nn.Module):
        def __init__(self, spec):
            super().__init__()
            self.spec = spec
            self.register_buffer("theta", torch.tensor(spec.theta(), dtype=torch.float32))

        def forward(self, x, positions):
            phase = (positions[..., None] * self.theta)[..., None, :, :]
            cos, sin = phase.cos().to(x.dtype), phase.sin().to(x.dtype)
            u, v = x.chunk(2, dim=-1)
            return torch.cat([u * cos - v * sin, u * sin + v * cos], dim=-1)

        def start(self):
            self.next, self.cache = torch.zeros(1, dtype=torch.int64), []

        def prefill(self, x, lengths=None):
            y = self(x, self.next[:, None] + torch.arange(x.shape[2]))
            self.cache.append(y)
            self.next = self.next + (x.shape[2] if lengths is None else lengths)
            return y

        def step(self, x):
            return self.prefill(x)

        def keys(self):
            return torch.cat(self.cache, dim=2)

        def evict(self, start, stop):
            keys = self.keys()
            self.cache = [torch.cat([keys[:, :, :start], keys[:, :, stop:]], dim=2)]

    claim = rc.Claim(axes="bhtd", namespace="torch", accepts=lambda s: s == SPEC or "one width")
    results = decode_verdicts(Torch, claim=claim)
    closed = {name for name, result in results.items() if result.verdict == "not claimed"}
    assert closed == {"sessions", "shift"}
    assert {r.verdict for n, r in results.items() if n not in closed} == {"passed"}, results
    assert any("one width" in note for note in results["prefill"].notes)
