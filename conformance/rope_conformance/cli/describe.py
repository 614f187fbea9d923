"""The command ``rope-ref describe``."""

from __future__ import annotations

import sys
from typing import Any

import click

from rope_conformance.cli.exits import Unusable

__all__ = ["describe"]

_LAYOUT = "Which channels form a pair: for a model type that is not known, or to overrule it."


@click.command(short_help="Say what RoPE a model has.")
@click.argument("config", type=click.Path(exists=True))
@click.option("--layout", type=click.Choice(["half", "interleaved"]), help=_LAYOUT)
@click.option("--length", type=int, metavar="N", help="The length of text, where it counts.")
@click.option("--table", is_flag=True, help="Show every pair.")
@click.option(
    "--diff", "other", type=click.Path(exists=True), metavar="OTHER", help="Where OTHER differs."
)
@click.option(
    "--at",
    "position",
    type=float,
    metavar="P",
    help="Where --diff compares angles; the last position of the shorter context, 4095 if none is "
    "known.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def describe(
    config: str,
    layout: Any,
    length: int | None,
    table: bool,
    other: str | None,
    position: float | None,
    as_json: bool,
) -> None:
    """Say what RoPE the model has whose CONFIG this is.

    CONFIG is a Hugging Face config.json, a folder with one, or a GGUF file. What is shown for each
    type of layers: the RoPE in words, and for its pairs theta, the wavelength, the turns inside the
    context and the ratio to the plain frequencies.

    Exit status: 0, also where OTHER differs; 2 if a file cannot be used, or the call is wrong.
    """
    import json
    import math

    if other is None and position is not None:
        raise click.UsageError("--at says where --diff compares; give --diff OTHER beside it")
    if other is not None and table:
        raise click.UsageError("--table shows the pairs of one model; leave out --diff")
    if position is not None and not math.isfinite(position):
        raise click.BadParameter(
            f"{position} is no position; give a finite number", param_hint="--at"
        )

    from rope_conformance.describing import output
    from rope_ref import RopeError

    try:
        first = output.open_model(config, layout=layout, length=length)
        second = None
        if other is not None:
            second = output.open_model(other, layout=layout, length=length)
    except RopeError as error:
        raise Unusable(str(error)) from None
    found = None if second is None else output.differences(first, second, position)
    if as_json:
        click.echo(json.dumps(output.as_json(first, found), indent=2, allow_nan=False))
    elif second is None or found is None:
        output.show(first, sys.stdout, table=table)
    else:
        output.show_differences(found, (first.name, second.name), sys.stdout)
