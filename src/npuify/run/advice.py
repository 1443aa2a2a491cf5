"""Notes for errors: an error that CUDA's absence explains says what to do. Its own text and traceback stay."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from npuify.language import phrase
from npuify.run.frames import INSIDE, package

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Advice(NamedTuple):
    """What to do about errors whose type and text match."""

    error: str
    """Name of the exception's class, or of one that it derives from; empty: any."""
    text: str
    """Pattern sought in its text."""
    note: str


TABLE = (
    Advice(
        "",
        r"Torch not compiled with CUDA|Cannot initialize CUDA without|Found no NVIDIA driver|dummy base class|"
        r"No CUDA GPUs are available|"
        r"has no attribute '_(?:cuda|nccl)|NVTX functions not installed|torch\.cuda\.\w+ requires CUDA support|"
        r"arguments from the 'CUDA' backend|Invalid device, must be npu device",
        "this is a part of CUDA that npuify run does not reach. `npuify migrate` may change the line{place}; "
        "`npuify explain NAME` says what takes a name's place.",
    ),
    Advice(
        "ModuleNotFoundError",
        r"No module named '(?:flash_attn|apex|xformers|bitsandbytes|cupy|pycuda|pynvml|faiss|tensorrt|triton|"
        r"transformer_engine|amp_C|causal_conv1d|mamba_ssm|spconv|MinkowskiEngine|cumm|nvidia)",
        "the package is made for CUDA. `npuify scan` says what takes its place on an NPU; `npuify migrate` puts it "
        "there where it is known.",
    ),
    Advice(
        "",
        r"CUDA_HOME environment variable is not set|nvcc|ninja is required|Error building extension|CUDAExtension",
        "the program builds an extension for CUDA. Its kernels have to be written for the NPU; `npuify scan` lists "
        "them. A program that has its own way for other devices takes it with --disable device-words.",
    ),
    Advice(
        "",
        r"NPU out of memory",
        "the NPU's memory is full: make the batch smaller, or set PYTORCH_NPU_ALLOC_CONF=expandable_segments:True.",
    ),
    Advice(
        "NotSimulated",
        r"",
        "the name exists in torch_npu, but not in the simulation: only an NPU can show what this line does.",
    ),
    Advice(
        "",
        r"error code is \d{6}|\bERR0\d{4}\b|\bE[A-Z]\d{4}\b",
        "`npuify diagnose LOG` finds the cause in the logs of all ranks; `npuify explain CODE` says what a code means.",
    ),
    Advice(
        "TypeError",
        r"'NoneType' and '(?:int|tuple|float)'|cannot unpack non-iterable NoneType",
        "some of what torch.cuda tells of a GPU is None on an NPU; `npuify migrate` changes such places{place}.",
    ),
)
"""The first that matches counts. Texts: those of PyTorch and torch_npu, as their sources and the imported packages give
them."""


def note_for(error: BaseException) -> str:
    """What to do about an error; empty where there is nothing to say."""
    names = {kind.__name__ for kind in type(error).__mro__}
    try:
        text = str(error)
    except Exception:
        return ""
    for row in TABLE:
        if (not row.error or row.error in names) and re.search(row.text, text):
            place = last_place(error)
            return "npuify run: " + phrase(row.note, place=f" ({place})" if place else "")
    return ""


def last_place(error: BaseException) -> str:
    """``file:line`` of the last frame of an error that is not torch's own."""
    found, traceback = "", error.__traceback__
    while traceback is not None:
        if package(traceback.tb_frame) not in INSIDE:
            found = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


def add_note(error: BaseException, text: str) -> None:
    """Put a note on an error, once; before Python 3.11, which has no notes, on the standard error."""
    add: Callable[[str], None] | None = getattr(error, "add_note", None)
    if add is None:
        print(text, file=sys.stderr)
    elif text not in getattr(error, "__notes__", ()):
        add(text)


def install() -> None:
    """Put notes on errors that end the program or a thread of it."""
    import threading

    shown: Any = sys.excepthook
    shown_in_thread: Any = threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        _note(error)
        shown(kind, error, traceback)
        _tell(error)

    def thread_hook(args: Any) -> None:
        _note(args.exc_value)
        shown_in_thread(args)

    sys.excepthook = hook
    threading.excepthook = thread_hook


def _note(error: BaseException | None) -> None:
    if error is not None and hasattr(error, "add_note"):
        text = note_for(error)
        if text:
            add_note(error, text)


def _tell(error: BaseException) -> None:
    """After the traceback, where errors have no notes."""
    if not hasattr(error, "add_note"):
        text = note_for(error)
        if text:
            print(text, file=sys.stderr)
