"""Whole logs that were written and labelled before diagnose saw them: what a set taught is not forgotten."""

from __future__ import annotations

import pytest

from .samples import FOLDER
from .whole_logs import WHOLE, diagnosed_whole, first_of, is_right_of, whole_logs

SETS = sorted(file.stem for file in WHOLE.glob("*.toml"))
LOGS = [(name, log) for name in SETS for log in whole_logs(name)]


@pytest.mark.parametrize(("name", "log"), LOGS, ids=[log["id"] for _, log in LOGS])
def test_the_answer_is_that_of_the_label(name: str, log: dict[str, object]) -> None:
    found = diagnosed_whole(log)
    assert is_right_of(log, found), (name, found.cause, found.title, found.why)


def test_the_sets_of_the_readme_are_those_of_the_files() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in SETS:
        right, missed = first_of(name)
        logs = whole_logs(name)
        assert right == len(logs) - len(missed) and set(missed) <= {log["id"] for log in logs}
        assert f"| {name[4:]} | {right} | {len(logs)} | {right / len(logs):.0%} |".replace("%", " %") in readme
