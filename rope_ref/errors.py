"""One exception class for each way to be wrong.

Each subclasses `RopeError` and the builtin that a caller would catch. The message
restates the call, names the argument, says what was expected and what to try.
"""

__all__ = [
    "AmplitudeError",
    "AxesError",
    "ChannelRopesError",
    "ChunkError",
    "ConfigError",
    "ConfigTypeError",
    "ConfigValueError",
    "CoordinateError",
    "CountError",
    "CountTypeError",
    "DtypeError",
    "FrequencyCountError",
    "FrequencyValueError",
    "GridError",
    "HeadDimError",
    "HeadGroupError",
    "LayerTypeError",
    "LayoutError",
    "MaskError",
    "MissingConfigKeyError",
    "NegativePositionError",
    "NextPositionError",
    "NonFinitePositionError",
    "NtkWidthError",
    "OddRotaryDimError",
    "OrderError",
    "PairAxesError",
    "PairOrderError",
    "PositionDtypeError",
    "PositionRangeError",
    "PositionShapeError",
    "RankError",
    "RopeError",
    "RotaryDimRangeError",
    "ScaleRangeError",
    "SectionsError",
    "SegmentError",
    "ShapeError",
    "SpecError",
    "TableShapeError",
    "UnknownConfigKeyError",
    "UnknownModelTypeError",
    "UnknownRopeTypeError",
    "WeightKindError",
    "WeightShapeError",
    "WidthsError",
]


class RopeError(Exception):
    """Anything rope_ref refuses."""


class SpecError(RopeError, TypeError):
    """A RopeSpec is needed and another thing given, or an argument of one has the wrong type."""


class HeadDimError(RopeError, ValueError):
    """head_dim is not a positive integer."""


class OddRotaryDimError(RopeError, ValueError):
    """rotary_dim is odd, but channels rotate in pairs."""


class RotaryDimRangeError(RopeError, ValueError):
    """The rotating channels do not lie inside the head."""


class LayoutError(RopeError, ValueError):
    """A layout, or the direction, is none of those that exist."""


class PairAxesError(RopeError, ValueError):
    """pair_axes does not name one position axis for each pair."""


class FrequencyValueError(RopeError, ValueError):
    """A parameter of a frequency rule is not a number the rule can use."""


class FrequencyCountError(RopeError, ValueError):
    """The number of given frequencies is not the number of pairs."""


class NtkWidthError(RopeError, ValueError):
    """NTK scaling has no value for a head of two rotating channels."""


class AxesError(RopeError, ValueError):
    """The axes letters do not describe the array they come with."""


class ShapeError(RopeError, ValueError):
    """An array has the wrong number of channels or disagrees with its partner."""


class HeadGroupError(RopeError, ValueError):
    """The query heads cannot be divided into groups, one for each key head."""


class DtypeError(RopeError, TypeError):
    """An array does not hold real numbers that float64 can represent."""


class TableShapeError(RopeError, ValueError):
    """A cos or sin table does not fit the array it is applied to."""


class PositionShapeError(RopeError, ValueError):
    """Positions have a shape that does not fit the axes of the array."""


class PositionDtypeError(RopeError, TypeError):
    """Positions are not integers or real numbers."""


class NonFinitePositionError(RopeError, ValueError):
    """A position is infinite or not a number."""


class PositionRangeError(RopeError, OverflowError, ValueError):
    """A position lies at or beyond 2**53, where float64 no longer holds every integer."""


class NegativePositionError(RopeError, ValueError):
    """A position is negative where a text is counted from its start."""


class ScaleRangeError(RopeError, OverflowError, ValueError):
    """A factor on queries or keys is beyond the largest float64."""


class CountTypeError(RopeError, TypeError):
    """A number of tokens, heads or ranks is not an integer."""


class CountError(RopeError, ValueError):
    """A number of tokens, heads or ranks is out of range, or there is not one for each."""


class MaskError(RopeError, ValueError):
    """A padding mask is not an array of zeros and ones."""


class RankError(RopeError, ValueError):
    """There is no rank of this number."""


class OrderError(RopeError, ValueError):
    """Chunks are wanted in an order that does not exist."""


class ChunkError(RopeError, ValueError):
    """A document cannot be cut into chunks of equal length."""


class WeightKindError(RopeError, ValueError):
    """Weights are of a kind that has no layout."""


class WeightShapeError(RopeError, ValueError):
    """Weights do not have one row for each channel of each head."""


class AmplitudeError(RopeError, ValueError):
    """Parts of one RoPE have different amplitudes, but cos and sin have one factor."""


class CoordinateError(RopeError, ValueError):
    """A coordinate of a grid is not a finite real number, or not one of a row of them."""


class GridError(RopeError, ValueError):
    """The rows or columns of a grid cannot be merged as asked."""


class NextPositionError(RopeError, ValueError):
    """There is no such rule for the position after an image."""


class ChannelRopesError(RopeError, ValueError):
    """Two RoPEs, one for the first and one for the second channels, do not go together."""


class PairOrderError(RopeError, ValueError):
    """An order of the pairs names one that there is not, or not each of them once."""


class SectionsError(RopeError, ValueError):
    """Sections do not say how many pairs each position axis has."""


class SegmentError(RopeError, TypeError):
    """Something that is neither text nor a grid stands among the segments."""


class WidthsError(RopeError, ValueError):
    """Widths do not give each position axis a positive even number of channels."""


class ConfigError(RopeError, ValueError):
    """A model's configuration does not describe a RoPE that can be built."""


class ConfigTypeError(ConfigError, TypeError):
    """A value of a configuration, or the configuration, has the wrong type."""


class ConfigValueError(ConfigError):
    """A value of a configuration cannot be used, or two contradict each other."""


class MissingConfigKeyError(ConfigError, KeyError):
    """A configuration lacks a key that its RoPE needs."""

    __str__ = Exception.__str__  # KeyError's own would put the message in quotes


class UnknownConfigKeyError(ConfigError):
    """A key is about RoPE and is not understood."""


class UnknownRopeTypeError(ConfigError):
    """A scaling type is none of those that exist."""


class UnknownModelTypeError(ConfigError):
    """A model type, or an architecture, whose layout is not known."""


class LayerTypeError(ConfigError):
    """Layers of several types turn differently, and the type asked for is none of them."""
