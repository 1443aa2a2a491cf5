"""Training practice: how data are loaded."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument, keyword_of
from npuify.rules.registry import rule
from npuify.rules.training.walks import DOCUMENTATION, block_of, named_calls
from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU802",
    "pin-memory-without-workers",
    Safety.MANUAL,
    Severity.INFO,
    words=("pin_memory=true",),
    evidence=Evidence.DOCUMENTED,
    source="PyTorch's page on data loading: pinning pays off when workers load ahead",
)
def pin_memory_without_workers(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A DataLoader pins memory but has no workers, so that loading, pinning and computing take turns."""
    if not _is_loader(node, file) or any(keyword.arg is None for keyword in node.keywords):
        return
    pinned = keyword_of(node, "pin_memory")
    workers = argument(node, 5, "num_workers")
    if not (isinstance(pinned, ast.Constant) and pinned.value is True):
        return
    if workers is not None and not (isinstance(workers, ast.Constant) and workers.value == 0):
        return
    yield file.report(
        node,
        "pin_memory=True without workers: the host loads and pins while the NPU waits",
        subject="torch.utils.data.DataLoader",
        advice="set num_workers to a few per card, with persistent_workers=True, and copy with non_blocking=True",
    )


def _is_loader(node: ast.Call, file: PythonFile) -> bool:
    return file.qualname(node.func) in ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")


@rule(
    "NPU803",
    "collate-to-device",
    Safety.MANUAL,
    Severity.WARNING,
    words=("collate_fn=",),
    common_words=True,
    evidence=Evidence.REPORTED,
    source="user reports: 'Cannot re-initialize NPU in forked subprocess'",
)
def collate_to_device(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A collate function moves tensors to the device, but runs in worker processes.

    Workers are forked from a process that already uses the NPU, and cannot use it themselves.
    """
    if not _is_loader(node, file):
        return
    workers = argument(node, 5, "num_workers")
    collate = keyword_of(node, "collate_fn")
    if workers is None or (isinstance(workers, ast.Constant) and workers.value == 0):
        return
    body = file.function(collate) if collate is not None else None
    if body is None:
        return
    for name, call in named_calls(body):
        place = call.args[0] if call.args else None
        word = dotted_text(place) or (place.value if isinstance(place, ast.Constant) else "") if place else ""
        to_device = name == "to" and isinstance(word, str) and word.rpartition(".")[2].startswith(("device", "cuda"))
        if isinstance(call.func, ast.Attribute) and (name in ("cuda", "npu") or to_device):
            yield file.report(
                collate if collate is not None else node,
                phrase(
                    "the collate function moves tensors to the device (line {lineno}), in worker processes",
                    lineno=call.lineno,
                ),
                subject="torch.utils.data.DataLoader",
                advice="return tensors on the CPU and move the batch in the training loop, with non_blocking=True",
            )
            return


@rule(
    "NPU806",
    "set-epoch-missing",
    Safety.MANUAL,
    Severity.WARNING,
    words=("distributedsampler(",),
    evidence=Evidence.DOCUMENTED,
    source=f"{DOCUMENTATION} of DistributedSampler: without set_epoch each epoch has the same order",
)
def set_epoch_missing(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A shuffling DistributedSampler is used for several epochs, and ``set_epoch`` is never called.

    Reported only where the epoch loop is in the same file.
    """
    name = file.qualname(node.func) or ""
    if not (name.startswith("torch.utils.data.") and name.endswith(".DistributedSampler")) or file.contains(
        b"set_epoch"
    ):
        return
    shuffle = argument(node, 3, "shuffle")
    if shuffle is not None and not (isinstance(shuffle, ast.Constant) and shuffle.value is True):
        return
    _, own, _ = block_of(node, file)
    text = file.code(own).lower() if isinstance(own, (ast.Assign, ast.AnnAssign)) else ""
    if not text or any(word in text.partition("=")[0] for word in ("val", "test", "eval")):
        return
    data = file.source.data
    if b"for epoch in range(" not in data and b"for epoch in tqdm" not in data:
        return
    if any(word in argument_text(node, file) for word in ("val", "test", "eval")):
        return
    yield file.report(
        node,
        "the sampler's set_epoch is never called, so every epoch has the same order",
        subject="torch.utils.data.distributed.DistributedSampler.set_epoch",
        advice="call sampler.set_epoch(epoch) at the start of each epoch",
    )


def argument_text(node: ast.Call, file: PythonFile) -> str:
    """The source of a call's first argument, in lower case."""
    return file.code(node.args[0]).lower() if node.args else ""
