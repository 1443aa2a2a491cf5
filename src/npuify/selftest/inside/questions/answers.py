"""Statements that the imported package was asked before, one after the other in one process."""

from __future__ import annotations

import importlib
import re
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, is_simulated, kernels_missing
from npuify.selftest.inside.questions.says import said

_SETUP = "import copy, io, os, pickle\nimport torch, torch_npu\nimport torch.distributed as dist"
_SIMULATED_OTHERWISE = ("ProcessGroupHCCL", "ProcessGroupNCCL", "ProfilerActivity")
"""What statements name that the simulator takes from PyTorch."""
_spaces: dict[str, dict[str, Any]] = {}
_asked: dict[str, int] = {}
_messages: dict[str, str] = {}
"""Scenario → what the last statement's error said."""


def answer(scenario: str, number: int, statement: str) -> str:
    """The value of a statement as text, or the type of what it raises.

    Args:
        number: the place of the statement in its scenario, from 0. Those before it must have been asked in this
        process.
    """
    if number != _asked.get(scenario, 0):
        raise CannotAsk("a statement before it ended the process")
    _asked[scenario] = number + 1
    _messages[scenario] = ""
    if is_simulated() and any(name in statement for name in _SIMULATED_OTHERWISE):
        raise CannotAsk("simulated otherwise")
    if scenario not in _spaces:
        _spaces[scenario] = {}
        exec(_SETUP, _spaces[scenario])
        importlib.import_module("torch.distributed")
    space, found = _spaces[scenario], list[str]()

    def run() -> None:
        try:
            code = compile(statement, "statement", "eval")
        except SyntaxError:
            code = compile(statement, "statement", "exec")
        try:
            value = eval(code, space)
            found.append("" if value is None else steady(repr(value)))
        except Exception as error:
            if type(error).__name__ == "NotSimulated":
                raise
            if kernels_missing(error):
                raise CannotAsk("there is no kernel here") from None
            kind = type(error)
            _messages[scenario] = str(error)
            found.append(f"raises {kind.__module__}.{kind.__qualname__}".replace(" builtins.", " "))

    said(run)
    return found[0]


def codes(scenario: str, number: int) -> list[str]:
    """The codes in what the statement's error said.

    Args:
        number: the place of the statement, which must be the last that :func:`answer` was asked.
    """
    if _asked.get(scenario, 0) != number + 1:
        raise CannotAsk("a statement before it ended the process")
    if is_simulated():
        raise CannotAsk("simulated otherwise")
    return codes_in(_messages[scenario])


def codes_in(text: str) -> list[str]:
    """The numbers of errors that a message names: of the runtime, and of torch_npu."""
    return re.findall(r"(?<=error code is )\d+|(?<=error code:)\d+|\bERR\d{5}\b", text)


def steady(text: str) -> str:
    """``text`` without what differs from run to run, and with one spelling for what has several."""
    text = text.partition("\n")[0].replace(" (simulated by npuify)", "")
    text = re.sub(r"\b0x[0-9a-f]+", "0x...", text)
    text = re.sub(r"npuify\.simulator\.api\.(\w+)\.(\w+)", r"torch_npu.\2", text)
    text = re.sub(r"torch_npu\.(?:\w+\.)+(\w+)", r"torch_npu.\1", text)
    return re.sub(r"/[^\s'\"]*/(torch(?:_npu)?/)", r"\1", text)[:300]
