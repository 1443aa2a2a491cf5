"""Runs in an environment that has vLLM, with no card: asks its own parser and classes. Input and answers are JSON.

vLLM wants a platform before it makes a parser; the one for the CPU is put in the place of the plug-in's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import json
import shlex
import sys

import vllm.platforms as platforms  # type: ignore[import-not-found, unused-ignore]
from vllm.platforms.cpu import CpuPlatform  # type: ignore[import-not-found, unused-ignore]

platforms._current_platform = CpuPlatform()
platforms.current_platform = platforms._current_platform

import vllm  # type: ignore[import-not-found, unused-ignore]  # noqa: E402
from vllm.engine.arg_utils import AsyncEngineArgs  # type: ignore[import-not-found, unused-ignore]  # noqa: E402
from vllm.entrypoints.llm import LLM  # type: ignore[import-not-found, unused-ignore]  # noqa: E402
from vllm.entrypoints.openai.cli_args import make_arg_parser  # type: ignore[import-not-found, unused-ignore]  # noqa: E402
from vllm.utils.argparse_utils import FlexibleArgumentParser  # type: ignore[import-not-found, unused-ignore]  # noqa: E402


def main() -> None:
    given = json.load(sys.stdin)
    parser = make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    answers: dict[str, object] = {
        "version": vllm.__version__,
        "options": sorted({one for action in parser._actions for one in action.option_strings}),
        "fields": [field.name for field in dataclasses.fields(AsyncEngineArgs)],
        "parameters": list(inspect.signature(LLM.__init__).parameters),
        "lines": [refusal(parser, line) for line in given["lines"]],
    }
    json.dump(answers, sys.__stdout__)


def refusal(parser: FlexibleArgumentParser, line: str) -> str:
    """What the parser says against the options of a command line; empty where it takes them."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parser.parse_args(shlex.split(line))
    except SystemExit:
        return said.getvalue().strip().rpartition("\n")[2]
    return ""


main()
