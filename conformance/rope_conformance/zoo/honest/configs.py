"""An honest reader of a model's config."""

from __future__ import annotations

from rope_conformance.zoo.member import control
from rope_conformance.zoo.parts.configs import Reader


@control(position_forms=("t", "bt"))
class config_read(Reader):  # noqa: N801
    """Reads all it knows, and refuses the rest."""
