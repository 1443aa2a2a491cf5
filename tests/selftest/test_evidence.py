"""The page that says how claims are known."""

from __future__ import annotations

import pytest
from tools.evidence import PAGE, page


@pytest.mark.thorough
def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tools.evidence"
