"""rope_backends: rotary position embedding through the array API."""

__all__: list[str] = []
