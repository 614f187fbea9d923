"""Targets that misbehave."""

import itertools
import os
import sys

import numpy as np

from rope_conformance import Unsupported
from rope_conformance.zoo.honest.plain import float32_power
from rope_ref import RopeSpec

honest = float32_power(RopeSpec(8, layout="half"))
calls = itertools.count()


def good(x, positions):
    return honest(x, positions)


def raises(x, positions):
    raise TypeError("no such operand")


def returns_none(x, positions):
    return None


def wrong_shape(x, positions):
    return good(x, positions)[:, :-1]


def wrong_dtype(x, positions):
    return good(x, positions).astype(np.float64)


def returns_list(x, positions):
    return list(good(x, positions))


def exits(x, positions):
    sys.exit(0)


def takes_nothing():
    return None


def constant(x, positions):
    return np.zeros_like(x)


def not_a_number(x, positions):
    return np.full_like(x, np.nan)


def interrupts(x, positions):
    if next(calls) == 20:
        raise KeyboardInterrupt
    return good(x, positions)


def prints(x, positions):
    print("debug", x.shape)
    os.system("echo from a child")
    return good(x, positions)


number = 3


class Raises:
    def __init__(self, spec):
        raise RuntimeError("no weights here")


class Exits:
    def __init__(self, spec):
        sys.exit("bye")


class Declines:
    def __init__(self, spec):
        raise Unsupported("half layout only")

    def __call__(self, x, positions):
        return x
