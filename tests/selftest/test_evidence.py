"""The page that says how claims are known."""

from __future__ import annotations

import pytest
from tools.evidence import PAGE, page
from tools.site.languages import LANGUAGES, SiteLanguage


@pytest.mark.thorough
@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_the_page_is_current(language: SiteLanguage) -> None:
    written = PAGE.with_suffix(f"{language.suffix}.md").read_text(encoding="utf-8")
    assert written == page(language), "run: python -m tools.evidence"
