"""Arguments of the comparison of two checkouts."""

from __future__ import annotations

import sys

import pytest

from tests import same_numbers


@pytest.mark.parametrize("arguments", [[], ["--foo"], ["/"], [".", "x"], [".", "1", "--foo"], [".", "--answers", "1"]])
def test_unknown_arguments_are_refused(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["same_numbers", *arguments])
    with pytest.raises(SystemExit) as error:
        same_numbers.main()
    assert error.value.code == 2
