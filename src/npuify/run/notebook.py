"""``%load_ext npuify``: a running notebook's CUDA code means the NPU from that cell on."""

from __future__ import annotations

import os
import sys
from typing import Any

from npuify.language import phrase
from npuify.run import advice, start
from npuify.run.settings import PREFIX, Settings, from_environment


def load(shell: Any) -> None:
    """Patch this process, by the settings in the environment (``%env NPUIFY_RUN_DEVICE=simulated``).

    Errors of cells carry notes from then on.

    Raises:
        ImportError: there is no torch_npu, and no simulated one was asked for.
    """
    import importlib.util

    settings: Settings = from_environment()
    if settings.device != "simulated" and importlib.util.find_spec("torch_npu") is None:
        raise ImportError(
            phrase(
                "{executable} has no torch_npu; for a simulated NPU: %env {PREFIX}_DEVICE=simulated, and load again",
                executable=sys.executable,
                PREFIX=PREFIX,
            )
        )
    if os.environ.get(PREFIX) == "1":
        return
    start.in_this_process(settings)
    if "notes" in settings.disabled or not hasattr(shell, "set_custom_exc"):
        return

    def show(
        shell: Any, kind: type[BaseException], error: BaseException, traceback: Any, tb_offset: Any = None
    ) -> None:
        text = advice.note_for(error)
        shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
        if text:
            print(text, file=sys.stderr)

    shell.set_custom_exc((Exception,), show)


def unload(shell: Any) -> None:
    """Say that what was patched stays patched."""
    print(
        phrase("npuify: CUDA's names mean the NPU until this process ends; restart the kernel to undo that"),
        file=sys.stderr,
    )
