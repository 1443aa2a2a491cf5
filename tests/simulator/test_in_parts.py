"""A program that is run part by part."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from . import in_parts
from .conftest import keep_parts

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """import sys
made = 1

#: passes
made += 1

#: fails
raise ValueError("first line\\nsecond line")

#: lacks
raise Lacking("what is not there")

#: goes on with what the others made
assert made == 2 and sys.argv[1:] == ["--x"], sys.argv

#: an assertion
assert made == 3

#: ends
sys.exit(4)

#: never begins
"""


def test_a_part_that_fails_does_not_hide_the_next(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, in_parts.__file__, "program.py", "--x"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert 'File "program.py", line 8, in <module>' in done.stderr
    kept: list[tuple[str, object]] = []
    keep_parts(PROGRAM, done.stdout, lambda name, value: kept.append((name, value)))
    assert kept == [
        ("passes", "passed"),
        ("fails", "failed: ValueError: first line"),
        ("lacks", "lacking: what is not there"),
        ("goes on with what the others made", "passed"),
        ("an assertion", "failed: AssertionError: assert made == 3"),
        ("ends", "failed: the program ended before it"),
        ("never begins", "failed: the program ended before it"),
    ]


def test_one_that_failed_is_in_the_exit_code(tmp_path: Path) -> None:
    for text, code in (
        ("1 / 0\n#: one\n", 1),
        ("#: one\n1 / 0\n#: two\n", 1),
        ("#: one\n#: two\nraise Lacking('')\n", 0),
    ):
        (tmp_path / "program.py").write_text(text)
        command = [sys.executable, in_parts.__file__, "program.py"]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == code


def test_what_all_need_and_cannot_have_is_the_reason_of_each(tmp_path: Path) -> None:
    text = "raise OSError('no machine')\n#: one\n#: two\n"
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, in_parts.__file__, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    kept: list[tuple[str, object]] = []
    keep_parts(text, done.stdout, lambda name, value: kept.append((name, value)))
    assert kept == [("one", "failed: OSError: no machine"), ("two", "failed: OSError: no machine")]
