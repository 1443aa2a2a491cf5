"""Begins a capture in this process: when TensorFlow has been imported."""

from __future__ import annotations

import atexit
import os

from npuify.verify.capture.after_import import after_import
from npuify.verify.capture.settings import from_environment

VARIABLE = "NPUIFY_CAPTURE_TENSORFLOW"
"""Begins it; the settings are those of every capture."""


def when_tensorflow_comes() -> None:
    """Wait for the program to import TensorFlow, and then begin."""
    after_import("tensorflow", begin)


def begin() -> None:
    """Put the hooks of the capture into TensorFlow and Keras."""
    settings = from_environment()
    from npuify.verify.capture.keras import functions, recorder, replay, sameness, training, values
    from npuify.verify.capture.store import Store

    storage = Store(settings, rank=values.rank, process=values.process)
    sameness.apply(settings, storage)
    writer = replay.Writer(settings, storage)
    log = functions.Log(writer)
    functions.install(log)
    seen = recorder.Recorder(log, settings)
    seen.install()
    training.install(log, seen, writer)
    atexit.register(writer.end)
    os.register_at_fork(after_in_child=writer.stop)
