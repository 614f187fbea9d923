"""The exit statuses of ``rope-ref``, and the error that ends it with the last of them."""

from __future__ import annotations

import click

__all__ = ["CONFORMANT", "NOT_CONFORMANT", "UNUSABLE", "Unusable"]

CONFORMANT, NOT_CONFORMANT, UNUSABLE = 0, 1, 2


class Unusable(click.ClickException):
    """The target or a file cannot be used, or the call is wrong: one message on stderr."""

    exit_code = UNUSABLE
