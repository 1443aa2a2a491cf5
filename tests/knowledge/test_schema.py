"""A bad row is an error that names file and row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from npuify.knowledge.hand_written import DATA, environment, meanings, read_rows, version_rows
from npuify.knowledge.release.table import RELEASES, read_release_file
from npuify.knowledge.schema import EnvironmentFact, Meaning
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.core

GOOD = """\
# a comment
[[name]]
cuda = "torch.cuda.x"
effect = "no-effect"
message = "m"
evidence = "package"
source = "s"

"""


def _fails(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = tmp_path / "names.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NpuifyError, match=words) as caught:
        read_rows(path, "name", Meaning)
    assert caught.value.file == str(path)
    assert caught.value.line == line


def test_good_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    path.write_text(GOOD * 2, encoding="utf-8")
    assert [row.cuda for row in read_rows(path, "name", Meaning)] == ["torch.cuda.x", "torch.cuda.x"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('effect = "no-effect"', 'effect = "noeffect"', "Invalid enum value"),
        ('evidence = "package"', 'evidence = "sure"', "Invalid enum value"),
        ('message = "m"', 'message = "m"\nmesage = "m"', "unknown field"),
        ('message = "m"\n', "", "missing required field"),
        ('message = "m"', "message = 3", "Expected `str`"),
        ('source = "s"', 'source = " "', "without a source"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, before: str, after: str, words: str) -> None:
    second = GOOD.replace(before, after)
    _fails(tmp_path, GOOD + second, line=GOOD.count("\n") + 2, words=words)


def test_broken_toml_is_named(tmp_path: Path) -> None:
    _fails(tmp_path, GOOD + "[[name]\n", line=GOOD.count("\n") + 1, words="not valid TOML")


def test_another_table_is_refused(tmp_path: Path) -> None:
    _fails(tmp_path, GOOD + '[[nmae]]\ncuda = "x"\n', line=0, words="nmae")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="cannot read"):
        read_rows(tmp_path / "none.toml", "name", Meaning)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(format=99), "layout 99"),
        (lambda c: c.pop("patched"), "patched"),
        (lambda c: c.update(more=1), "unknown field"),
        (lambda c: c["cuda"].update(x=1), "Expected `object`"),
    ],
)
def test_a_bad_release_file_is_named(tmp_path: Path, change: object, words: str) -> None:
    content = json.loads((RELEASES / "2.14.0.json").read_bytes())
    change(content)  # type: ignore[operator]
    path = tmp_path / "2.14.0.json"
    path.write_text(json.dumps(content))
    with pytest.raises(NpuifyError, match=words) as caught:
        read_release_file(path)
    assert caught.value.file == str(path)


def test_a_truncated_release_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "2.14.0.json"
    path.write_bytes((RELEASES / "2.14.0.json").read_bytes()[:-100])
    with pytest.raises(NpuifyError, match="not a release table"):
        read_release_file(path)


def test_shipped_tables_are_valid() -> None:
    assert len(meanings()) > 100
    assert len(environment()) > 100
    assert len(version_rows()) > 30
    rows = read_rows(DATA / "environment.toml", "variable", EnvironmentFact)
    assert sum(1 + len(row.also) for row in rows) == len(environment()), "a variable has two rows"
    assert all(name == fact.cuda for name, fact in environment().items())


def test_a_renamed_variable_says_to_what() -> None:
    for name, fact in environment().items():
        if fact.action == "rename":
            assert fact.npu and (fact.npu != name or fact.values), name
        if fact.action == "drop":
            assert fact.npu is None, name


def test_a_missing_name_is_not_given_a_place() -> None:
    for rows in meanings().values():
        for row in rows:
            if row.effect == "missing":
                assert row.npu == "", row.cuda
            if row.effect == "renamed" and row.npu is not None:
                assert row.npu, row.cuda
