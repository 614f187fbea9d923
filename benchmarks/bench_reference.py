"""Cost and accuracy of the reference table beside the textbook float64 table, in one run.

    python benchmarks/bench_reference.py

Cost is the median over rounds in which both run, one after the other, so that a machine
that slows down slows both. Each call returns fresh arrays and pays for the page faults of
its memory; their number is printed, because they can take longer than the arithmetic.
Accuracy is the largest error against Arb (python-flint), in ulps of the true value and
absolute.
"""

import resource
import statistics
import time

import numpy as np
from flint import arb, ctx

import rope_ref as rr

TOKENS, ROUNDS = 131072, 7
SPEC = rr.RopeSpec(128, layout="half", frequencies=rr.PowerLaw(10000.0))


def reference(positions):
    """The table of this package."""
    return rr.cos_sin(positions, SPEC)


def textbook(positions):
    """The table everyone writes: float64 position times float64 theta."""
    phase = positions[:, None].astype(np.float64) * SPEC.theta()
    return np.cos(phase), np.sin(phase)


TABLES = {"reference": reference, "textbook": textbook}


def page_faults():
    """Page faults of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def cost():
    """Median seconds and page faults of each table."""
    positions = np.arange(TOKENS)
    seconds = {name: [] for name in TABLES}
    faults = {name: [] for name in TABLES}
    for round_ in range(ROUNDS + 1):
        for name, table in TABLES.items():
            faults_before, start = page_faults(), time.perf_counter()
            result = table(positions)
            elapsed, faulted = time.perf_counter() - start, page_faults() - faults_before
            del result  # outside the time of either
            if round_:  # the first round fills caches
                seconds[name].append(elapsed)
                faults[name].append(faulted)
    return (
        {name: statistics.median(values) for name, values in times.items()}
        for times in (seconds, faults)
    )


def errors(table, position):
    """Largest error over all pairs, in ulps and absolute."""
    ulps = absolute = 0.0
    cos, sin = table(np.array([position]))
    for i, got in enumerate(zip(cos[0].tolist(), sin[0].tolist(), strict=True)):
        theta = (arb(10000).log() * -2 * i / SPEC.rotary_dim).exp()
        true_sin, true_cos = (theta * position).sin_cos()
        for value, true in zip(got, (true_cos, true_sin), strict=True):
            error = float((true - value).abs_upper())
            absolute = max(absolute, error)
            ulps = max(ulps, error / float(np.spacing(np.nextafter(abs(float(true)), 0.0))))
    return ulps, absolute


def main():
    """Print cost and accuracy."""
    print(f"NumPy {np.__version__}, {TOKENS} positions x {SPEC.rotary_dim // 2} pairs")
    seconds, faults = cost()
    for name in TABLES:
        print(f"{name:>10}: {seconds[name]:.3f} s, {faults[name]:.0f} page faults")
    print(f"     ratio: {seconds['reference'] / seconds['textbook']:.2f}")

    ctx.prec = 320
    print("largest error over all pairs")
    for position in (1, 4095, 2**17 - 1, 2**20, 2**31 - 1, 2**53 - 1, 7252436179928985):
        found = (
            f"{name} {u:.3g} ulp ({a:.1e})"
            for name in TABLES
            for u, a in [errors(TABLES[name], position)]
        )
        print(f"{position:>17}: " + ", ".join(found))


if __name__ == "__main__":
    main()
