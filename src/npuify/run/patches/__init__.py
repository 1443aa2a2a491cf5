"""What ``npuify run`` changes beside the release's own ``transfer_to_npu``: one module for each subject.

``PATCHES`` says of each what it is for; any can be left out with ``npuify run --disable NAME``.
"""

from __future__ import annotations

from typing import NamedTuple


class Patch(NamedTuple):
    """One change to the running process, that can be left out."""

    name: str
    module: str
    """In :mod:`npuify.run.patches`, with a function ``apply()``; empty where it is made elsewhere."""
    summary: str
    known: str
    """How it is known that transfer_to_npu does not do it, or does it wrong: ``live`` (asked of the imported
    package) or ``package`` (read in its files)."""


PATCHES = (
    Patch("environment", "", "variables of CUDA and NCCL set Ascend's of the same meaning", "package"),
    Patch("notes", "", "errors that CUDA's absence explains carry a note that says what to do", "live"),
    Patch("transfer", "", "the release's own transfer_to_npu", "live"),
    Patch("devices", "devices", 'torch.device("cuda") is the NPU: equal to its tensors\' devices', "live"),
    Patch(
        "device-words",
        "device_words",
        'x.device.type == "cuda" and str(x.device) hold of the NPU, for CUDA\'s words',
        "live",
    ),
    Patch("backend-words", "backend_words", 'get_backend() == "nccl" holds of hccl', "package"),
    Patch("cuda-method", "cuda_method", "x.cuda() takes a device in every spelling, by place and by keyword", "live"),
    Patch(
        "paths", "paths", 'a path that has "cuda" or "nccl" in it stays as it is (torch.load, init_method)', "package"
    ),
    Patch(
        "checkpoints", "checkpoints", "checkpoints saved on CUDA load without map_location, and with a table", "live"
    ),
    Patch(
        "capability", "capability", "get_device_capability() and get_device_properties() have numbers for None", "live"
    ),
    Patch("versions", "versions", "torch.version.cuda, NCCL's and cuDNN's versions can be compared", "live"),
    Patch(
        "tensor-types",
        "tensor_types",
        "torch.cuda.FloatTensor and its like in type(), isinstance and as default",
        "live",
    ),
    Patch("storages", "storages", "storages have is_cuda and cuda() as tensors have", "live"),
    Patch("submodules", "submodules", "torch.cuda.memory, .streams and others have the NPU's functions", "live"),
    Patch("scaler", "scaler", 'torch.amp.GradScaler("cuda") scales for the NPU', "live"),
    Patch("nvtx", "nvtx", "torch.cuda.nvtx marks ranges for the NPU's profiler", "live"),
    Patch("jit", "jit", "what torch.jit.script no longer scripts can be saved", "package"),
    Patch(
        "out-of-memory",
        "out_of_memory",
        'the text of an NPU\'s out-of-memory error holds "CUDA out of memory" too',
        "live",
    ),
    Patch("data-parallel", "data_parallel", "nn.DataParallel runs on one NPU", "live"),
    Patch(
        "library-checks",
        "library_checks",
        "libraries that ask for CUDA find what they should, after an error as well",
        "package",
    ),
    Patch("warnings", "", "the program's own warning filters stay (transfer_to_npu resets them)", "package"),
    Patch("early-names", "", "names that were imported before the patches mean the new ones", "package"),
)


def names() -> tuple[str, ...]:
    """Of all patches, in the order in which they are put in place."""
    return tuple(patch.name for patch in PATCHES)


applied: list[str] = []
"""Patches that stand in this process, in the order in which they came."""
