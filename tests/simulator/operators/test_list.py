"""The page that lists what is simulated."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tools.site.languages import LANGUAGES, SiteLanguage

from tools import simulated_operators


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_the_page_is_current(language: SiteLanguage) -> None:
    written = simulated_operators.PAGE.with_suffix(f"{language.suffix}.md").read_text(encoding="utf-8")
    assert written == simulated_operators.page(language), "run: python tools/simulated_operators.py"


def test_the_page_names_each_operator_once() -> None:
    text = simulated_operators.PAGE.read_text(encoding="utf-8")
    known, _, missing = text.partition("## Not simulated")
    assert "| `npu_fusion_attention` | query, key, value" in known
    assert "- `npu_lstm`" in missing and "`npu_lstm` |" not in known
