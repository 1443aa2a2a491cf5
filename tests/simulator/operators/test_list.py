"""The page that lists what is simulated."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tools import simulated_operators


def test_the_page_is_current() -> None:
    written = simulated_operators.PAGE.read_text(encoding="utf-8")
    assert written == simulated_operators.page(), "run: python tools/simulated_operators.py"


def test_the_page_names_each_operator_once() -> None:
    text = simulated_operators.PAGE.read_text(encoding="utf-8")
    known, _, missing = text.partition("## Not simulated")
    assert "| `npu_fusion_attention` | query, key, value" in known
    assert "- `npu_lstm`" in missing and "`npu_lstm` |" not in known
