"""The clauses of the specification and their checks, one file per family."""

# In the order of the specification, which is also the order of a run: what can be told
# quickly and in words comes first.
FAMILIES = (
    "pairing",
    "frequency",
    "scaling",
    "table",
    "tables",
    "rotation",
    "score",
    "passthrough",
    "axes",
    "channels",
    "independence",
    "data",
    "attention",
    "gradient",
    "logits",
    "decode",
    "growth",
    "positions",
    "segments",
    "weights",
    "config",
    "objects",
)
