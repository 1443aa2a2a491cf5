"""Runs in an environment that has PaddlePaddle: programs one after the other, what each prints, and where it computed.

Input: a list of programs as JSON. Output: for each what it printed, or the error that ended it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback


def main() -> None:
    answers = []
    for number, text in enumerate(json.load(sys.stdin)):
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                exec(compile(text, f"program {number}", "exec"), {"__name__": "__main__"})
            answers.append(said.getvalue())
        except BaseException:
            answers.append(said.getvalue() + traceback.format_exc())
    json.dump(answers, sys.__stdout__)


main()
