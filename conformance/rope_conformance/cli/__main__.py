"""``python -m rope_conformance.cli``: the command without its script."""

from rope_conformance.cli import main

main()
