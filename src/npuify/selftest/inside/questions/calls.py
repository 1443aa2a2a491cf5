"""Which operators run on the CPU when a public function of torch is called with NPU tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, is_simulated
from npuify.selftest.inside.questions.says import said
from npuify.selftest.inside.samples.call_list import CALLS, SETUP

_FALLBACK = re.compile(r"The operator 'aten::([\w.]+)'")


_SIMULATED_OTHERWISE = ("torch.inverse", "torch.slogdet", "torch.triangular_solve")
"""Functions that have a kernel of their own, and that the simulator takes apart."""


def on_cpu(function: str) -> list[str]:
    """The operators that fall back, in order. Said once in a process, so that each call needs its own."""
    if function in _SIMULATED_OTHERWISE and is_simulated():
        raise CannotAsk("simulated otherwise")
    space: dict[str, Any] = {}
    exec(SETUP, space)

    def run() -> None:
        try:
            exec(CALLS[function], space)
            space["torch"].npu.synchronize()
        except Exception as error:
            if type(error).__name__ == "NotSimulated":
                raise
            # Some arguments are refused at the end, which is no matter of where operators run.

    return plain(_FALLBACK.findall(said(run)))


def plain(operators: Iterable[str]) -> list[str]:
    """Operators without overloads: which form of one it was depends on how torch was built."""
    return list(dict.fromkeys(name.partition(".")[0].rstrip("_") for name in operators))
