"""Loaders of other packages that copy batches to CUDA beforehand, and archives of TorchScript from other machines."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import argument, keyword_of
from npuify.rules.registry import rule
from npuify.rules.training.walks import enclosing_function, first_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_LOADERS = {
    "timm.data.create_loader": None,
    "timm.data.loader.create_loader": None,
    "timm.data.PrefetchLoader": 4,
    "timm.data.loader.PrefetchLoader": 4,
}
"""Loader → the position of its argument ``device``; None: by name only."""


@rule(
    "NPU818",
    "loader-prefetches-to-cuda",
    Safety.MANUAL,
    words=("create_loader", "prefetchloader"),
    also_in_file=("timm",),
    evidence=Evidence.PACKAGE,
    source="timm/data/loader.py: device is torch.device('cuda') unless given; NPUs since October 2024",
)
def loader_prefetches_to_cuda(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """timm's loader copies each batch to CUDA beforehand, on a stream of its own, unless it is given a device."""
    name = file.qualname(node.func)
    if name not in _LOADERS or keyword_of(node, "device") is not None or "timm" in file.project.packages:
        return
    if any(item.arg is None for item in node.keywords) or any(isinstance(item, ast.Starred) for item in node.args):
        return
    at = _LOADERS[name]
    if at is not None and len(node.args) > at:
        return
    wanted = keyword_of(node, "use_prefetcher")
    if isinstance(wanted, ast.Constant) and not wanted.value:
        return
    sure = wanted is None or isinstance(wanted, ast.Constant)
    yield file.report(
        node,
        "timm's loader copies batches to CUDA unless it is given a device" + ("" if sure else ", where it prefetches"),
        severity=Severity.ERROR if sure else Severity.WARNING,
        subject=name,
        advice="pass device=torch.device('npu') to a timm of 1.0.12 or newer, or use_prefetcher=False",
    )


@rule(
    "NPU821",
    "ffcv-loads-to-cuda",
    Safety.SAFE,
    Severity.WARNING,
    words=("todevice(", "normalizeimage("),
    also_in_file=("ffcv",),
    evidence=Evidence.PACKAGE,
    source="ffcv/loader/epoch_iterator.py and ffcv/transforms/normalize.py of ffcv 1.0",
)
def ffcv_loads_to_cuda(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """FFCV copies batches to a device on CUDA's streams, and normalizes there by CuPy.

    Without CUDA it neither makes streams nor waits for events, so that the memory of a batch may be written again while
    it is still copied: the copy has to be one that waits. Its ``NormalizeImage`` behind ``ToDevice`` needs CuPy, and is
    to stand before it, on the CPU, or in the model.

    Before::

        import torch
        from ffcv.transforms import ToDevice
        move = ToDevice(torch.device("cuda:0"), non_blocking=True)

    After::

        import torch
        import torch_npu  # noqa: F401
        from ffcv.transforms import ToDevice
        move = ToDevice(torch.device("npu:0"), non_blocking=False)
    """
    name = file.qualname(node.func) or ""
    if not name.startswith("ffcv.") or "ffcv" in file.project.packages:
        return
    last = name.rpartition(".")[2]
    if last == "NormalizeImage" and _is_behind_move(node, file):
        yield file.report(
            node,
            phrase("behind ToDevice, FFCV's NormalizeImage computes by CuPy, which needs CUDA"),
            severity=Severity.ERROR,
            safety=Safety.MANUAL,
            subject=name,
            advice=phrase("put it before ToDevice, where it runs on the CPU, or normalize in the model"),
        )
    place = argument(node, 0, "device")
    if last != "ToDevice" or place is None or getattr(place, "value", None) == "cpu":
        return
    waits = argument(node, 1, "non_blocking")
    if isinstance(waits, ast.Constant) and waits.value is False:
        return
    end = file.source.end(place)
    plain = waits is None and len(node.args) + len(node.keywords) == 1
    edits = [file.edit(end, end, ", non_blocking=False")] if plain else []
    if isinstance(waits, ast.Constant) and waits.value is True:
        edits = [file.replace(waits, "False")]
    yield file.report(
        node,
        phrase("FFCV waits for its copies by CUDA's events only: without them, a batch may be written again meanwhile"),
        edits=edits,
        subject=name,
        advice="" if edits else phrase("pass non_blocking=False"),
    )


def _is_behind_move(node: ast.Call, file: PythonFile) -> bool:
    """Whether a list of transforms has a ``ToDevice`` before one."""
    row = file.parent(node)
    before = row.elts[: row.elts.index(node)] if isinstance(row, ast.List) else []
    return any(isinstance(one, ast.Call) and (file.qualname(one.func) or "").endswith(".ToDevice") for one in before)


@rule(
    "NPU820",
    "option-chooses-dali",
    Safety.MANUAL,
    Severity.WARNING,
    words=("dali",),
    also_in_file=("add_argument",),
    evidence=Evidence.DOCUMENTED,
    source="DALI's documentation: its pipelines need an NVIDIA driver",
)
def option_chooses_dali(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The default of an option chooses NVIDIA's DALI to load data, so that a program started without it cannot run."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "add_argument":
        return
    default = keyword_of(node, "default")
    if not isinstance(default, ast.Constant) or default.value in (None, False, "", "cpu"):
        return
    options = [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    named = isinstance(default.value, str) and "dali" in default.value.lower()
    if not named and not any(_DALI.search(option) and not _WITHOUT.search(option) for option in options):
        return
    if not named and default.value not in (True, 1, "gpu", "mixed"):
        return
    yield file.report(
        default,
        phrase(
            "{value} is {value2!r} unless given: DALI needs an NVIDIA GPU",
            value=options[0] if options else "an option",
            value2=default.value,
        ),
        subject=options[0] if options else "dali",
        advice="make another loader the default: a torchvision pipeline in a DataLoader",
    )


_DALI = re.compile(r"(?i)(?<![a-z])dali(?![a-z])")
_WITHOUT = re.compile(r"(?i)(?<![a-z])(?:no|without|disable)(?![a-z])")
_MAKING = (b"jit.save", b"jit.trace", b"jit.script(")
"""What stands in a project that makes archives itself."""


@rule(
    "NPU819",
    "script-of-another-machine",
    Safety.MANUAL,
    Severity.WARNING,
    words=("jit.load(", "torch.jit import"),
    evidence=Evidence.DOCUMENTED,
    source="PyTorch's documentation of torch.jit.trace: devices are recorded as constants",
)
def script_of_another_machine(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A TorchScript archive is loaded that the project does not make: traced on a GPU, it holds the device in its code.

    Reported once for each function; not where the archive stays on the CPU, or where the project writes archives.
    """
    if file.qualname(node.func) != "torch.jit.load":
        return
    place = argument(node, 1, "map_location")
    if place is not None and "cpu" in file.code(place) and not _is_moved(node, file):
        return
    if any(file.contains(word) or file.project.files_with(word) for word in _MAKING):
        return
    function = enclosing_function(node, file)
    if not first_time(f"NPU819 {getattr(function, 'lineno', 0)}", file):
        return
    yield file.report(
        node,
        "an archive that was traced on a GPU makes its constants on CUDA wherever it is loaded; map_location moves its "
        "weights alone",
        subject="torch.jit.load",
        advice="load it on the CPU first and look for cuda in its code (print(model.code)); trace or script the model "
        "again on the NPU, or from its Python code",
    )


def _is_moved(node: ast.Call, file: PythonFile) -> bool:
    """Whether the archive goes to a device in the same expression."""
    parent = file.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("cuda", "to", "npu")
