"""Put the patches in place, in a process that has imported torch and torch_npu."""

from __future__ import annotations

import importlib
import os
import sys
import warnings

from npuify.language import commas, phrase, speak, usual
from npuify.run import early, record
from npuify.run.patches import PATCHES, applied
from npuify.run.settings import PREFIX, Settings

failed: dict[str, str] = {}
"""Patches that could not be put in place → why."""


def apply(settings: Settings) -> None:
    """Do it, once. A patch that fails is told on the standard error, and the others still come."""
    if applied:
        return
    speak(usual())
    early.remember()
    wanted = [patch for patch in PATCHES if patch.name not in settings.disabled]
    names = {patch.name for patch in wanted}
    if "transfer" in names:
        _transfer(keep_filters="warnings" in names)
    applied.extend(name for name in ("environment", "notes", "transfer", "warnings") if name in names)
    for patch in wanted:
        if not patch.module:
            continue
        try:
            importlib.import_module(f"npuify.run.patches.{patch.module}").apply()
            applied.append(patch.name)
        except Exception as error:
            failed[patch.name] = f"{type(error).__name__}: {error}"
            print(
                phrase(
                    "npuify run: the patch {name} could not be put in place: {failed}",
                    name=patch.name,
                    failed=failed[patch.name],
                ),
                file=sys.stderr,
            )
    if record.is_on():
        from npuify.run import watch

        watch.watch()
        import torch

        release = str(sys.modules["torch_npu"].__version__)
        record.describe(torch=str(torch.__version__), torch_npu=release, device=settings.device)
    if "early-names" in names:
        changed = early.rename()
        applied.append("early-names")
    else:
        changed = 0
    if settings.log or os.environ.get(f"{PREFIX}_LOG", "") not in ("", "0"):
        text = phrase("npuify run: process {getpid}: {applied}", getpid=os.getpid(), applied=commas(applied))
        print(
            phrase("{text}; {changed} names that were taken earlier", text=text, changed=changed) if changed else text,
            file=sys.stderr,
        )


def _transfer(*, keep_filters: bool) -> None:
    """The release's own. It warns of what it does, and resets the filters of warnings for the whole process."""
    from torch.utils._device import _device_constructors

    # Cached while the functions are still torch's own: those are what set_default_device sees. Not every release does.
    _device_constructors()
    if not keep_filters:
        importlib.import_module("torch_npu.contrib.transfer_to_npu")
        return
    # It sets a filter that shows its own warning, so that ignoring is not enough: what is recorded is not shown.
    with warnings.catch_warnings(record=True):
        importlib.import_module("torch_npu.contrib.transfer_to_npu")
