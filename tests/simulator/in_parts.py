"""Runs a program part by part, so that what fails in one does not hide what the others show.

A part begins at a line ``#: what it shows``; what stands before the first belongs to all. A part that needs what this PyTorch
does not have raises ``Lacking``, a name that is there. Arguments: the program, and those that it is given. A line is printed
for each part, and the exit code is 1 if one failed.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

MARK = "#: "
PASSED, FAILED, LACKING = "part passed: ", "part failed: ", "part lacking: "


class Lacking(Exception):
    """This PyTorch does not have what a part is about."""


def parts(text: str) -> list[tuple[str, str]]:
    """Name and code of each part; the first has the name "". Lines stay where they are, for tracebacks."""
    lines = text.splitlines(keepends=True)
    begins = [0, *(i for i, line in enumerate(lines) if line.startswith(MARK)), len(lines)]
    found = []
    for begin, end in zip(begins, begins[1:], strict=False):
        name = lines[begin].removeprefix(MARK).strip() if begin else ""
        found.append((name, "\n" * begin + "".join(lines[begin:end])))
    return found


def main() -> int:
    """Returns the number of parts that failed, at most 1."""
    program, names = sys.argv[1], sys.modules["__main__"].__dict__
    names["Lacking"] = Lacking
    del sys.argv[0]
    # as if the program itself had been started: packages beside this file are none of its
    sys.path[:] = [str(Path(program).parent), *(place for place in sys.path if place != str(Path(__file__).parent))]
    (_, common), *rest = parts(Path(program).read_text(encoding="utf-8"))
    try:
        exec(compile(common, program, "exec", dont_inherit=True), names)
    except Exception as error:
        traceback.print_exc()
        for name, _ in rest:
            _say(f"{FAILED}{name}: {_why(error)}")
        return 1
    failed = 0
    for name, code in rest:
        try:
            exec(compile(code, program, "exec", dont_inherit=True), names)
        except Lacking as error:
            _say(f"{LACKING}{name}: {error}")
        except Exception as error:
            failed = 1
            traceback.print_exc()
            _say(f"{FAILED}{name}: {_why(error)}")
        else:
            _say(PASSED + name)
    return failed


def _why(error: Exception) -> str:
    said = str(error).strip() or traceback.extract_tb(error.__traceback__)[-1].line or ""
    return f"{type(error).__name__}: {said.partition(chr(10))[0]}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")  # at once, since processes share the stream
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
