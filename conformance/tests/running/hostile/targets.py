"""RoPEs that do to their process what nobody wants; the numbers they return are right.

Most do it once: with the first data that is all zeros, and no more once the file named by
ROPE_HOSTILE_DONE exists.
"""

import ctypes
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np

HOUR = 3600.0


def honest(x, positions):
    half = x.shape[-1] // 2
    theta = np.float32(10000) ** (-np.arange(half, dtype=np.float32) / np.float32(half))
    phase = (positions.astype(np.float32)[..., None] * theta)[..., None, :]
    cos, sin = np.cos(phase), np.sin(phase)
    u, v = x[..., :half], x[..., half:]
    return np.concatenate([u * cos - v * sin, u * sin + v * cos], axis=-1).astype(x.dtype)


def now(x):
    """Whether it is time, which comes once."""
    done = Path(os.environ["ROPE_HOSTILE_DONE"])
    if x.any() or done.exists():
        return False
    done.write_text(str(os.getpid()))
    return True


def once(misbehave):
    def rope(x, positions):
        if now(x):
            misbehave()
        return honest(x, positions)

    return rope


@once
def sleeps():
    time.sleep(HOUR)


@once
def spins():
    while True:
        pass


@once
def exits():
    sys.exit(0)


@once
def interrupts():
    raise KeyboardInterrupt


@once
def ends_with_0():
    os._exit(0)


@once
def ends_with_3():
    os._exit(3)


@once
def crashes():
    ctypes.string_at(0)


@once
def aborts():
    os.abort()


@once
def eats_memory():
    kept = []
    while True:
        kept.append(np.ones(2**20))
        time.sleep(0.001)


@once
def prints():
    print("x" * 3 * 2**20)


@once
def prints_past_python():
    for _ in range(3 * 2**10):
        os.write(1, b"x" * 2**10)


@once
def closes_every_pipe():
    os.closerange(0, 100)


@once
def forks():
    os.fork()


@once
def leaves_a_child():
    if os.fork() == 0:
        time.sleep(HOUR)


@once
def leaves_a_thread():
    threading.Thread(target=time.sleep, args=(HOUR,)).start()


def always_sleeps(x, positions):
    time.sleep(HOUR)


def closes_stdout(x, positions):
    sys.stdout.close()
    return honest(x, positions)


def chats(x, positions):
    print("a line of", x.shape)
    os.write(2, b"another\n")
    return honest(x, positions)


def makes_nothing_of_numpy(x, positions):
    y = honest(x, positions)
    for name in ("cos", "sin", "hypot", "abs", "isnan", "array_equal", "errstate"):
        setattr(np, name, lambda *given, **named: np.float64(0))
    np.random.default_rng = None
    return y


def sleeps_at_negative_positions(x, positions):
    if (np.asarray(positions) < 0).any():
        time.sleep(HOUR)
    return honest(x, positions)


def slow(x, positions):
    done = Path(os.environ["ROPE_HOSTILE_DONE"])
    if not done.exists():  # written once: a file that is being written when we are stopped is empty
        done.write_text(str(os.getpid()))
    time.sleep(0.05)
    return honest(x, positions)
