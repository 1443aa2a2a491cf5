"""The tuning table: each row can be read, asks only for measures that exist, and says where it comes from."""

from __future__ import annotations

import inspect
import re

import pytest

from npuify.knowledge.tuning import condition, tuning_rules
from npuify.model import NpuifyError
from npuify.verify.profile import measures


def test_every_measure_that_is_asked_for_is_made() -> None:
    made = set(re.findall(r'"([a-z0-9_]+)"', inspect.getsource(measures)))
    asked = {condition(text).measure for row in tuning_rules() for text in (*row.when, *row.unless)}
    assert {name for name in asked if not name.startswith("env.")} <= made


def test_rows_are_whole() -> None:
    for row in tuning_rules():
        assert row.source.strip()
        assert row.threshold.strip(), row.id
        assert row.advice.endswith("."), row.id


def test_conditions() -> None:
    assert condition("a > 0.1").holds({"a": 0.2}) is True
    assert condition("a > 0.1").holds({}) is None
    assert condition("env.A != ''").holds({"env.A": ""}) is False
    assert condition("env.A == '3'").holds({"env.A": "3"}) is True
    for wrong in ("a", "a > b", "a>1", "a > 'x'"):
        with pytest.raises(NpuifyError):
            condition(wrong)
