"""What `rope-ref describe` prints: words, a table, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rope_conformance.describing.config_files import open_config
from rope_conformance.describing.description import Difference, Pair, compare, pairs_of
from rope_conformance.describing.words import spec_in_words
from rope_ref import LayerRopes, RopeSpec
from rope_ref.models.gguf import read_gguf
from rope_ref.models.hf_config import read_hf_config
from rope_ref.scaling import DynamicNTK, LongRoPE
from rope_ref.spec import Layout

__all__ = [
    "DESCRIPTION",
    "Compared",
    "Described",
    "Group",
    "as_json",
    "differences",
    "open_model",
    "show",
    "show_differences",
]

DESCRIPTION = "rope-ref-description-1"

_SHOWN = 4  # pairs at each end of a summary


@dataclass(frozen=True)
class Group:
    """Layers that share a RoPE, and the context that their pairs turn in.

    `length` is the part of texts meant, where the RoPE depends on their length.
    """

    title: str
    layers: tuple[str, ...]
    spec: RopeSpec
    context: float | None
    length: str = ""


@dataclass(frozen=True)
class Compared:
    """Layers of one model beside layers of another."""

    first: str
    second: str
    difference: Difference


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

    def groups(self) -> list[Group]:
        """The RoPEs that differ, with the layers that have them."""
        layers: dict[RopeSpec, list[str]] = {}
        for layer, spec in self.specs.items():
            layers.setdefault(spec, []).append(layer)
        return [group for spec, names in layers.items() for group in self._by_length(spec, names)]

    def _by_length(self, spec: RopeSpec, names: list[str]) -> Iterator[Group]:
        """One group, or two where longer texts have other frequencies."""
        title, rule = ", ".join(names), spec.frequencies
        if not isinstance(rule, DynamicNTK | LongRoPE):
            yield Group(title, tuple(names), spec, self.context)
            return
        trained = float(rule.original_length)
        if rule.length is not None or self.context is None or self.context <= trained:
            yield Group(title, tuple(names), spec, float(rule.length or trained))
            return
        longest = replace(spec, frequencies=rule.at(self.context))
        short, long = f"up to {trained:,.0f}", f"of {self.context:,.0f}"
        yield Group(f"{title}, texts {short} tokens", tuple(names), spec, trained, short)
        yield Group(f"{title}, texts {long} tokens", tuple(names), longest, self.context, long)

    def pick(self, layer_type: str | None, call: str) -> RopeSpec:
        """Return the RoPE of one type of layers; None stands for the only one.

        Raises
        ------
        LayerTypeError
            As `rope_ref.models.hf_config.LayerRopes.pick`.
        """
        return LayerRopes(self.specs, self.notes).pick(layer_type, call)


def open_model(
    path: str | Path, *, layout: Layout | None = None, length: float | None = None
) -> Described:
    """Return the RoPE of the model whose configuration a file holds.

    Parameters
    ----------
    path
        A ``config.json``, a folder with one, or a GGUF file.
    layout
        The pair layout, for a model type that is not known, or to overrule it. A GGUF file
        of an architecture that is not known is refused all the same.
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
        if layout is not None:
            rope = replace(rope, specs={t: _laid_out(s, layout) for t, s in rope.specs.items()})
        context = config.get(f"{architecture}.context_length")
    else:
        rope = read_hf_config(config, layout=layout, length=length)
        text = config.get("text_config") or config
        names = ("max_position_embeddings", "n_positions")
        context = next((text[n] for n in names if text.get(n) is not None), None)
    # A config may leave it out; then nothing is said of turns inside it.
    known = isinstance(context, int | float) and not isinstance(context, bool) and context > 0
    return Described(str(path), rope.specs, context if known else None, rope.notes)


def _laid_out(spec: RopeSpec, layout: Layout) -> RopeSpec:
    return replace(spec, layout=layout, output_layout=layout)


def as_json(described: Described, compared: Sequence[Compared] | None = None) -> dict[str, Any]:
    """Return a description for machines: what the terminal shows, and every pair.

    What is infinite is None: the wavelength of a pair that stands still, and the relative
    difference of theta where it does so in one of the two only.
    """
    found: dict[str, Any] = {
        "schema": DESCRIPTION,
        "name": described.name,
        "context": described.context,
        "notes": list(described.notes),
        "layers": [
            {
                "layers": group.title,
                "context": group.context,
                "words": spec_in_words(group.spec),
                "head_dim": group.spec.head_dim,
                "rotary_dim": group.spec.rotary_dim,
                "rotary_start": group.spec.rotary_start,
                "layout": group.spec.layout,
                "output_layout": group.spec.output_layout,
                "direction": group.spec.direction,
                "frequencies": repr(group.spec.frequencies),
                "amplitude": float(group.spec.frequencies.amplitude),
                "never_turn": never_turning(pairs),
                "pairs": [asdict(pair) for pair in pairs],
            }
            for group, pairs in _each(described)
        ],
    }
    if compared is not None:
        found["differences"] = [asdict(each) for each in compared]
    return {name: _finite(value) for name, value in found.items()}


def differences(first: Described, second: Described, position: float | None) -> list[Compared]:
    """Return where two models differ: layers of equal names, or all with all.

    `position` is that of the largest angle that is looked for; None stands for the last one
    of the shorter context, or of 4096 positions where neither context is known.
    """
    shared = set(first.specs) & set(second.specs)
    found = []
    for own in first.groups():
        for other in second.groups():
            named = shared and not set(own.layers) & set(other.layers)
            if named or (own.length and other.length and own.length[:2] != other.length[:2]):
                continue
            contexts = [each.context for each in (own, other) if each.context is not None]
            at = position if position is not None else min(contexts, default=4096.0) - 1
            found.append(Compared(own.title, other.title, compare(own.spec, other.spec, at)))
    return found


def never_turning(pairs: list[Pair]) -> list[int]:
    """Return the pairs that never complete a turn inside the context."""
    return [pair.pair for pair in pairs if pair.turns is not None and pair.turns < 1]


def show(described: Described, stream: TextIO, *, table: bool) -> None:
    """Print a description: a summary, or every pair."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    _print(console, Text(described.name, style="bold"))
    if described.context is not None:
        _print(console, _indented(f"{described.context:,.0f} positions"))
    for group, pairs in _each(described):
        _print(console, Text(f"\n{group.title}", style="bold"))
        if not pairs:
            _print(console, _indented("no rotation"))
            continue
        for words in spec_in_words(group.spec):
            _print(console, _indented(words))
        if group.context is not None:
            _print(console, _indented(_never(pairs)))
        cut = None if table or len(pairs) <= 2 * _SHOWN else _SHOWN
        _print(console, _table(pairs, cut))
    if described.notes:
        _print(console, Text("\nnotes", style="bold"))
    for note in described.notes:
        _print(console, _indented(note))


def show_differences(compared: Sequence[Compared], names: tuple[str, str], stream: TextIO) -> None:
    """Print where two models differ."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    _print(console, Text(f"{names[0]} | {names[1]}", style="bold"))
    for each in compared:
        same = each.first == each.second
        title = each.first if same else f"{each.first} | {each.second}"
        _print(console, Text(f"\n{title}", style="bold"))
        for line in _difference(each.difference):
            _print(console, _indented(line))


def _difference(found: Difference) -> Iterator[str]:
    for what, own, other in found.what:
        yield f"{what}: {own} | {other}"
    if found.theta is None or found.angle is None:
        yield "the numbers of pairs differ: there is no pair to set beside a pair"
        return
    if not found.different_pairs:
        yield "no pair turns at another speed" if found.what else "no difference"
        return
    yield f"{found.different_pairs} pairs turn at another speed"
    relative, pair = found.theta
    yield f"largest relative difference of theta: {relative:.4g}, pair {pair}"
    angle, pair = found.angle
    yield (
        f"largest difference of angles at position {found.position:,.12g}: {angle:.4g} rad, "
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


def _each(described: Described) -> Iterator[tuple[Group, list[Pair]]]:
    for group in described.groups():
        yield group, pairs_of(group.spec, group.context)


def _finite(value: Any) -> Any:
    """The same with None for infinity, which JSON lacks: a still pair has no wavelength."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
