"""Changed configs: each gives a spec or one clear error, and nothing else."""

import copy
import functools
import json
import os
import random
from collections import Counter
from pathlib import Path

from rope_ref import errors
from rope_ref.models.hf_config import read_hf_config
from rope_ref.models.model_types import MODEL_TYPES

CONFIGS = json.loads(Path(__file__).with_name("real_configs.json").read_text())

# One good scaling part for each type, so that mutants swap whole types and not only names.
SCALINGS = [
    {"rope_type": "default"},
    {"rope_type": "linear", "factor": 4.0},
    {"type": "dynamic", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 2048},
    {"rope_type": "longrope", "short_factor": [1.0] * 64, "long_factor": [2.0] * 64, "factor": 8},
    {"type": "su", "short_factor": [1.0] * 48, "long_factor": [2.0] * 48, "factor": 8},
    {
        "rope_type": "llama3",
        "factor": 8,
        "low_freq_factor": 1,
        "high_freq_factor": 4,
        "original_max_position_embeddings": 8192,
    },
    {"rope_type": "proportional", "partial_rotary_factor": 0.25},
    {"rope_type": "ntk", "factor": 8, "mixed_b": 0.625},
    {"rope_type": "axial"},
    {"type": "mrope", "mrope_section": [16, 24, 24]},
    {"type": "xdrope", "factor": 2, "alpha": 1000.0},
]
NAMES = sorted(
    {key for config in CONFIGS.values() for key in config}
    | {key for scaling in SCALINGS for key in scaling}
    | {"rope_ratio", "alibi", "layer_types", "mscale", "truncate", "beta_fast"}
)


def nested():
    """A mapping in a mapping, 3000 times."""
    return functools.reduce(lambda inner, _: {"a": inner}, range(3000), {})


# What is called is made anew, for a later change may change it again.
VALUES = [
    None, True, False, "", "yarn", "llama3", b"x", list, lambda: [1.0], lambda: [1, 2, 3], dict,
    lambda: {"rope_theta": 1e4}, lambda: {"a": {"b": {}}}, nested, float("nan"), float("inf"),
    -float("inf"), 0, -1, 1, 2, 3, 64, 0.5, -0.0, 1e-300, 1e300, 2**53, 10**400, 10**5000, object,
    (1, 2), lambda: {1: 2}, 1j,
]  # fmt: skip


def value(chance, *more):
    found = chance.choice([*more, *VALUES])
    return found() if callable(found) else found


def places(config):
    """Every (mapping or list, key) in a config, a few levels down."""
    found = []
    level = [config]
    for _ in range(4):
        inner = []
        for part in level:
            keys = list(part) if isinstance(part, dict) else list(range(min(len(part), 3)))
            found += [(part, key) for key in keys]
            inner += [part[key] for key in keys if isinstance(part[key], dict | list)]
        level = inner
    return found


def drop(part, key, chance):
    del part[key]


def rename(part, key, chance):
    if isinstance(part, dict):
        new = chance.choice([*NAMES, f"{key}s", str(key).upper(), 5])
        part[new] = part.pop(key)


def retype(part, key, chance):
    part[key] = value(chance)


def rescale(part, key, chance):
    if type(part[key]) in (int, float) and abs(part[key]) < 1e300:
        part[key] *= chance.choice([2, 0.5, 1.5, 10, 1 / 3, -1, 1])
        if chance.random() < 0.7 and abs(part[key]) < 1e9:
            part[key] = int(part[key])


def nest(part, key, chance):
    part[key] = chance.choice([{"full_attention": part[key]}, [part[key]], {key: part[key]}])


def cut(part, key, chance):
    if isinstance(part[key], list):
        part[key] = chance.choice([part[key][:-1], part[key] * 2, part[key] + [1.0]])


def add(part, key, chance):
    if isinstance(part, dict):
        part[chance.choice(NAMES)] = value(chance, 1, 2.0, 64, 1e4, "default")


def scale(part, key, chance):
    if isinstance(part, dict):
        name = chance.choice(["rope_scaling", "rope_parameters"])
        part.pop("rope_scaling", None), part.pop("rope_parameters", None)
        part[name] = copy.deepcopy(chance.choice(SCALINGS))


def other_type(part, key, chance):
    for name in ("rope_type", "type"):
        if isinstance(part, dict) and name in part:
            part[name] = chance.choice([scaling.get("rope_type", "su") for scaling in SCALINGS])
            part[name] = chance.choice([part[name], "magic"])


def other_model(part, key, chance):
    if isinstance(part, dict) and "model_type" in part:
        part["model_type"] = chance.choice([*MODEL_TYPES, "nobody"])


MUTATIONS = [
    drop, rename, retype, rescale, rescale, nest, cut, add, scale, scale, other_type, other_model,
]  # fmt: skip


def test_a_changed_config_gives_a_spec_or_a_config_error():
    """Nothing else, no warning, whatever is changed; ROPE_MUTATIONS says how often."""
    count = int(os.environ.get("ROPE_MUTATIONS", "3000"))
    chance = random.Random(20261)
    kinds, refusals = Counter(), Counter()
    for _ in range(count):
        config = copy.deepcopy(CONFIGS[chance.choice(list(CONFIGS))])
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            at = places(config)
            if at:
                chance.choice(MUTATIONS)(*chance.choice(at), chance)
        layout = chance.choice([None, None, None, "half", "interleaved"])
        length = chance.choice([None, None, 100, 10**5])
        try:
            rope = read_hf_config(config, layout=layout, length=length)
        except errors.ConfigError as error:
            refusals[type(error).__name__] += 1
            assert len(str(error)) < 2000
        else:
            kinds.update({type(spec.frequencies).__name__ for spec in rope.specs.values()})
            kinds["a spec"] += 1
    print(f"{count} mutants: {dict(kinds)}, {dict(refusals)}")
    assert kinds["a spec"] + refusals.total() == count
    assert kinds["a spec"] >= 0.3 * count
    rules = {"PowerLaw", "Linear", "DynamicNTK", "NTK", "FixedNTK", "YaRN", "LongRoPE", "Llama3"}
    assert rules | {"Proportional", "Axial"} <= set(kinds)
    names = {
        name for name in errors.__all__ if issubclass(getattr(errors, name), errors.ConfigError)
    }
    assert set(refusals) == names - {"ConfigError", "LayerTypeError"}
