"""What `rope-ref describe` prints: words, a table, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rope_conformance.config_files import open_config
from rope_conformance.description import Difference, Pair, compare, pairs_of, spec_in_words
from rope_ref import RopeSpec
from rope_ref.gguf_metadata import read_gguf
from rope_ref.model_config import ModelRope, read_hf_config
from rope_ref.spec import Layout

__all__ = [
    "DESCRIPTION",
    "Described",
    "as_json",
    "differences",
    "open_model",
    "show",
    "show_differences",
]

DESCRIPTION = "rope-ref-description-1"

_SHOWN = 4  # pairs at each end of a summary


@dataclass(frozen=True)
class Described:
    """A model's RoPE and where it was read.

    Parameters
    ----------
    name
        What it is called: the file.
    specs
        The RoPE of each type of layers; a spec with rotary_dim 0 does not rotate.
    context
        The longest text in tokens, if the config says so.
    notes
        What a spec does not say.
    """

    name: str
    specs: Mapping[str, RopeSpec]
    context: float | None
    notes: tuple[str, ...]

    def groups(self) -> dict[str, RopeSpec]:
        """The specs that differ, by the layers that have them."""
        layers: dict[RopeSpec, list[str]] = {}
        for layer, spec in self.specs.items():
            layers.setdefault(spec, []).append(layer)
        return {", ".join(names): spec for spec, names in layers.items()}

    def pick(self, layer_type: str | None, call: str) -> RopeSpec:
        """Return the RoPE of one type of layers; None stands for the only one.

        Raises
        ------
        LayerTypeError
            As `rope_ref.model_config.ModelRope.pick`.
        """
        return ModelRope(self.specs, self.notes).pick(layer_type, call)


def open_model(
    path: str | Path, *, layout: Layout | None = None, length: float | None = None
) -> Described:
    """Return the RoPE of the model whose configuration a file holds.

    Parameters
    ----------
    path
        A ``config.json``, a folder with one, or a GGUF file.
    layout
        The pair layout, for a model type that is not known.
    length
        The length of text in question, for scalings that depend on it.

    Raises
    ------
    ConfigError
        If the file, or what it says of RoPE, cannot be used.
    """
    config = open_config(path)
    architecture = config.get("general.architecture")
    if architecture is not None:
        rope = read_gguf(config, length=length)
        context = config.get(f"{architecture}.context_length")
    else:
        rope = read_hf_config(config, layout=layout, length=length)
        text = config.get("text_config", config)
        context = text.get("max_position_embeddings") if isinstance(text, dict) else None
    # A config may leave it out; then nothing is said of turns inside it.
    known = isinstance(context, int | float) and not isinstance(context, bool) and context > 0
    return Described(str(path), rope.specs, context if known else None, rope.notes)


def as_json(
    described: Described, differences: Mapping[str, Difference | str] | None = None
) -> dict[str, Any]:
    """Return a description for machines: what the terminal shows, and every pair."""
    found = {} if differences is None else {"differences": _differences_as_json(differences)}
    return found | {
        "schema": DESCRIPTION,
        "name": described.name,
        "context": described.context,
        "notes": list(described.notes),
        "layers": [
            {
                "layers": layers,
                "words": spec_in_words(spec),
                "head_dim": spec.head_dim,
                "rotary_dim": spec.rotary_dim,
                "rotary_start": spec.rotary_start,
                "layout": spec.layout,
                "output_layout": spec.output_layout,
                "direction": spec.direction,
                "amplitude": float(spec.frequencies.amplitude),
                "never_turn": never_turning(pairs),
                "pairs": [_finite(asdict(pair)) for pair in pairs],
            }
            for layers, spec, pairs in _each(described)
        ],
    }


def differences(
    first: Described, second: Described, position: float | None
) -> dict[str, Difference | str]:
    """Return where two models differ, for each type of layers of the first.

    A string says why there is nothing to compare. `position` is that of the largest angle
    that is looked for; None stands for the last one of the shorter context.
    """
    contexts = [each.context for each in (first, second) if each.context is not None]
    at = position if position is not None else min(contexts, default=4096) - 1
    found: dict[str, Difference | str] = {}
    for layers, spec in first.groups().items():
        names = [name for name in layers.split(", ") if name in second.specs]
        other = second.specs[names[0]] if names else next(iter(second.specs.values()))
        try:
            found[layers] = compare(spec, other, at)
        except ValueError as error:
            found[layers] = str(error)
    return found


def _differences_as_json(found: Mapping[str, Difference | str]) -> list[dict[str, Any]]:
    return [
        {"layers": layers} | ({"not_compared": each} if isinstance(each, str) else asdict(each))
        for layers, each in found.items()
    ]


def never_turning(pairs: list[Pair]) -> list[int]:
    """Return the pairs that never complete a turn inside the context."""
    return [pair.pair for pair in pairs if pair.turns is not None and pair.turns < 1]


def show(described: Described, stream: TextIO, *, table: bool) -> None:
    """Print a description: a summary, or every pair."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    _print(console, Text(described.name, style="bold"))
    if described.context is not None:
        _print(console, _indented(f"{described.context:,.0f} positions"))
    for layers, spec, pairs in _each(described):
        _print(console, Text(f"\n{layers}", style="bold"))
        if not pairs:
            _print(console, _indented("no rotation"))
            continue
        for words in spec_in_words(spec):
            _print(console, _indented(words))
        if described.context is not None:
            _print(console, _indented(_never(pairs)))
        cut = None if table or len(pairs) <= 2 * _SHOWN else _SHOWN
        _print(console, _table(pairs, cut))
    if described.notes:
        _print(console, Text("\nnotes", style="bold"))
    for note in described.notes:
        _print(console, _indented(note))


def show_differences(
    found: Mapping[str, Difference | str], names: tuple[str, str], stream: TextIO
) -> None:
    """Print where two models differ."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    for layers, difference in found.items():
        _print(console, Text(f"\n{layers}: {names[0]} against {names[1]}", style="bold"))
        for line in _difference(difference):
            _print(console, _indented(line))


def _difference(found: Difference | str) -> Iterator[str]:
    if isinstance(found, str):
        yield found
        return
    for what, own, other in found.what:
        yield f"{what}: {own} | {other}"
    if not found.different_pairs:
        yield "no pair turns at another speed" if found.what else "no difference"
        return
    yield f"{found.different_pairs} pairs turn at another speed"
    relative, pair = found.theta
    yield f"largest relative difference of theta: {relative:.4g}, pair {pair}"
    angle, pair = found.angle
    yield (
        f"largest difference of angles at position {found.position:,.0f}: {angle:.4g} rad, "
        f"pair {pair}"
    )


def _never(pairs: list[Pair]) -> str:
    slow = never_turning(pairs)
    if not slow:
        return "every pair completes a turn inside the context"
    if slow == list(range(slow[0], pairs[-1].pair + 1)):
        return f"pairs {slow[0]} to {slow[-1]} never complete a turn inside the context"
    return f"{len(slow)} pairs never complete a turn inside the context"


def _table(pairs: list[Pair], cut: int | None) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    several_axes = any(pair.axis is not None for pair in pairs)
    for name in ("pair", "channels", "theta", "wavelength", "turns", "of plain"):
        table.add_column(name, justify="right")
    if several_axes:
        table.add_column("axis", justify="right")
    for i, pair in enumerate(pairs):
        if cut is not None and cut <= i < len(pairs) - cut:
            if i == cut:
                table.add_row(*["..."] * (6 + several_axes))
            continue
        cells = [
            str(pair.pair),
            f"{pair.channels[0]}, {pair.channels[1]}",
            f"{pair.theta:.7g}",
            "never turns" if math.isinf(pair.wavelength) else f"{pair.wavelength:.6g}",
            "" if pair.turns is None else f"{pair.turns:.4g}",
            f"{pair.ratio:.6g}",
        ]
        table.add_row(*cells, *([str(pair.axis)] if several_axes else []))
    return table


def _each(described: Described) -> Iterator[tuple[str, RopeSpec, list[Pair]]]:
    for layers, spec in described.groups().items():
        yield layers, spec, pairs_of(spec, described.context)


def _finite(pair: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: a pair that stands still has no wavelength."""
    return pair | {"wavelength": None if math.isinf(pair["wavelength"]) else pair["wavelength"]}


def _indented(words: str) -> Padding:
    return Padding(Text(words), (0, 0, 0, 2))


def _print(console: Console, what: RenderableType) -> None:
    if not console.is_terminal:
        # A table is filled up with spaces, which are of no use in a file.
        with console.capture() as captured:
            console.print(what)
        what = "\n".join(line.rstrip() for line in captured.get().splitlines())
        console.print(what, soft_wrap=True)
        return
    console.print(what)
