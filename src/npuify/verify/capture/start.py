"""Begins a capture in this process: when torch is imported, and only in processes that can be the program's own."""

from __future__ import annotations

import os
import sys

from npuify.verify.capture.after_import import after_import
from npuify.verify.capture.settings import from_environment

_LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic")
"""Modules that only start others."""


def when_torch_comes() -> None:
    """Wait for the program to import torch, and then begin."""
    words = getattr(sys, "orig_argv", [])
    if any(word in _LAUNCHERS or word.endswith("torchrun") for word in words[1:4]):
        return
    if "torch" in sys.modules:
        begin()
        return
    after_import("torch", begin)


def begin() -> None:
    """Put the hooks of the capture into torch."""
    settings = from_environment()
    from npuify.verify.capture import recorder, sameness, store, training

    storage = store.Store(settings)
    sameness.apply(settings, storage)
    recording = recorder.Recorder(settings, storage)
    if settings.level == "operator":
        from npuify.verify.capture.operators import Operators

        recording.operators = Operators(recording)
    recording.install()
    training.install(settings, storage, recording)
    os.register_at_fork(after_in_child=recording.stop)
