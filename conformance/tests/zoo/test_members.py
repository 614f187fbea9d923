"""Wrong members stand in zoo/wrong, honest ones in zoo/honest, and what both need in zoo/parts."""

from pathlib import Path

import pytest

from rope_conformance import zoo
from rope_conformance.zoo import CONTROLS, WRONG

FOLDER = Path(zoo.__file__).parent


@pytest.mark.parametrize(("members", "room"), [(WRONG, "wrong"), (CONTROLS, "honest")])
def test_a_member_stands_in_its_room(members, room):
    """By the module it is written in."""
    rooms = {name: each.factory.__module__.split(".")[2] for name, each in members.items()}
    assert set(rooms.values()) == {room}, [n for n, own in rooms.items() if own != room]


@pytest.mark.parametrize(
    ("room", "strangers"),
    [("wrong", ("honest",)), ("honest", ("wrong",)), ("parts", ("wrong", "honest"))],
)
def test_neither_room_imports_the_other(room, strangers):
    """A change to a wrong RoPE cannot break an honest one."""
    for file in (FOLDER / room).glob("*.py"):
        for stranger in strangers:
            assert f"rope_conformance.zoo.{stranger}" not in file.read_text("utf-8"), file.name


@pytest.mark.parametrize("members", [WRONG, CONTROLS], ids=["wrong", "honest"])
def test_a_member_is_reached_by_its_name(members):
    """As ``rope_conformance.zoo:NAME``, which is what a command line takes."""
    assert all(getattr(zoo, name) is each.factory for name, each in members.items())
