"""The group of commands of ``rope-ref``.

Here and in the modules of the commands, what takes time to load is imported inside functions:
``rope-ref --help`` is quick.
"""

from __future__ import annotations

import click

from rope_conformance.cli.check import check
from rope_conformance.cli.describe import describe
from rope_conformance.cli.listing import list_

__all__ = ["rope_ref"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rope-ref", message="%(package)s %(version)s")
def rope_ref() -> None:
    """Judge implementations of rotary position embedding (RoPE)."""


for command in (check, describe, list_):
    rope_ref.add_command(command)
