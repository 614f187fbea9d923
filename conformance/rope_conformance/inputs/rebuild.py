"""From the text of an input, as a report shows it, back to the input."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rope_conformance.inputs.cases import Case, Input
from rope_conformance.inputs.configs import ModelConfig
from rope_conformance.inputs.queries_keys import QueriesKeys
from rope_conformance.inputs.requests import Asked, PositionRequest
from rope_conformance.inputs.segments import Prompt
from rope_conformance.inputs.sessions import Session
from rope_conformance.inputs.weights import Weights
from rope_ref.positions import GridSegment, TextSegment

__all__ = ["rebuild"]

_INPUTS = (Case, QueriesKeys, Asked, Prompt, Session, Weights, ModelConfig)
_PARTS = (PositionRequest, TextSegment, GridSegment, Fraction)  # that inputs hold
_NAMES: dict[str, Any] = {each.__name__: each for each in (*_INPUTS, *_PARTS)}


def rebuild(text: str) -> Input:
    """Return the input whose repr a text is."""
    given = eval(text, dict(_NAMES))
    assert isinstance(given, Input)
    return given
