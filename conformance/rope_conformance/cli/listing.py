"""The command ``rope-ref list``."""

from __future__ import annotations

import click

__all__ = ["list_"]


@click.command("list", short_help="Show what is built in.")
@click.option(
    "--bundled", "kind", flag_value="bundled", default=True, help="Public libraries; the default."
)
@click.option("--clauses", "kind", flag_value="clauses", help="What is judged.")
@click.option("--profiles", "kind", flag_value="profiles", help="Accuracies that can be claimed.")
@click.option("--wrong", "kind", flag_value="wrong", help="Wrong RoPEs to try a suite on.")
@click.option("--controls", "kind", flag_value="controls", help="Honest RoPEs beside them.")
def list_(kind: str) -> None:
    """Show the public libraries that can be judged by name, and what else comes along.

    A library's name is a TARGET, as in: rope-ref check transformers/llama. So is a wrong or
    honest RoPE: rope-ref check rope_conformance.zoo:NAME
    """
    from rope_conformance import zoo
    from rope_conformance.accuracy.profiles import PROFILES
    from rope_conformance.adapters import BUNDLED
    from rope_conformance.clauses import all_clauses
    from rope_conformance.report.terminal import show_names

    lines = {
        "bundled": lambda: [(name, _bundled_in_words(name)) for name in BUNDLED],
        "clauses": lambda: [(clause.id, clause.sentence) for clause in all_clauses()],
        "profiles": lambda: [(profile.name, profile.sentence) for profile in PROFILES],
        "wrong": lambda: [(each.name, each.sentence) for each in zoo.WRONG.values()],
        "controls": lambda: [(each.name, each.sentence) for each in zoo.CONTROLS.values()],
    }
    show_names(lines[kind]())


def _bundled_in_words(name: str) -> str:
    """A bundled implementation on a few lines: its version or what is missing, and its claim."""
    from rope_conformance.adapters import BUNDLED, installed
    from rope_conformance.report.words import claim_in_words

    entry = BUNDLED[name]
    version, missing = installed(name)
    found = f"{entry.package} {version}" if version else missing
    adapter = entry.load()
    profile = adapter.claim.profile or "float32"
    return f"{found}. {entry.sentence}. Claims {profile}; {claim_in_words(adapter.claim)}"
