"""The faults of tests/seeded_faults.py fit the sources; that the tests catch them is `make test-faults`."""

from __future__ import annotations

import pytest

from tests.seeded_faults import FAULTS, ROOT, Fault, place_of


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_of_one_place_and_of_tests_that_exist(fault: Fault) -> None:
    place_of(fault, ROOT)
    for test in fault.tests:
        file, _, name = test.partition("::")
        assert not name or f"def {name.partition('[')[0]}(" in (ROOT / file).read_text("utf-8")
