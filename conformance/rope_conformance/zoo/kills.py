"""Which wrong RoPEs each check must catch, as the members of the zoo say it."""

from __future__ import annotations

from rope_conformance.clauses import all_clauses
from rope_conformance.judging.clause import RegistryError
from rope_conformance.zoo import WRONG, Member

__all__ = ["kills"]


def kills() -> dict[str, tuple[Member, ...]]:
    """The wrong members that each clause must catch, by the id of the clause.

    Raises
    ------
    RegistryError
        If a clause is named by no wrong member, for a check is worth what it kills, or if a
        member names a clause that does not exist.
    """
    found: dict[str, list[Member]] = {clause.id: [] for clause in all_clauses()}
    for member in WRONG.values():
        if unknown := [id_ for id_ in member.clauses if id_ not in found]:
            raise RegistryError(f"{member.name} of the zoo: there is no clause {unknown[0]!r}")
        for id_ in member.clauses:
            found[id_].append(member)
    if idle := [id_ for id_, members in found.items() if not members]:
        raise RegistryError(f"clauses that no wrong member of the zoo names: {', '.join(idle)}")
    return {id_: tuple(members) for id_, members in found.items()}
