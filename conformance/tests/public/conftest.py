"""Public libraries are judged only where they are meant to be installed.

``ROPE_PUBLIC=1`` says that they are, and then one that does not import is a failure.
"""

import os
import sys
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("ROPE_PUBLIC") == "1" else ["test_*.py"]


def pytest_collection_modifyitems(items):
    """What libraries warn of while they are imported is not ours to mend."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(autouse=True)
def _no_table_left_by_another_test():
    """Forget what equinox keeps for the whole process; its fault is shown by one test alone."""
    yield
    if "equinox" in sys.modules:
        sys.modules["equinox"].clear_caches()
