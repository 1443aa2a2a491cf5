"""Which statements of a program that a rule wrote are taken here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npuify.selftest.inside.ask import is_simulated, is_stand_in, without_machine

NOT_SIMULATED = (
    *("host_memory_stats", "_NPUBase", "NPUPluggableAllocator", "_NPUAllocator", "MemPool", "from_ipc_handle"),
    *("torch_npu.distributed.rpc.options", "torch_npu.dynamo.torchair"),
)
"""Statistics of pinned memory, private classes, own allocators, handles between processes, RPC, torchair."""


def refused(job: dict[str, Any], known: list[str]) -> dict[str, str]:
    """Statement of the rule → what stopped it; those that are taken, and what the simulator says it lacks, are left
    out.

    Args:
        job: see :meth:`npuify.selftest.areas.form.Form.job`.
        known: statements that are known to be refused; they are left out, too.
    """
    from npuify.selftest.inside.forms import runner

    found = runner.run(job, Path.cwd(), "real" if is_stand_in() else "simulated")
    answers = {text: told for text, told in found["statements"].items() if not told.startswith(("done", "stand-in"))}
    if is_simulated():
        answers = {
            text: told
            for text, told in answers.items()
            if not told.startswith("NotSimulated") and not any(name in text for name in NOT_SIMULATED)
        }
    return {text: without_machine(told) for text, told in answers.items() if text not in known}
