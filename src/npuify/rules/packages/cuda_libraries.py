"""Libraries of CUDA that a program loads by itself, past every package."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.packages.import_guards import has_fallback
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_OURS: Final = (
    r"cuda|cudart|cudnn|cublas(?:Lt)?|cufft|curand|cusparse|cusolver|nccl|nvrtc|nvToolsExt|nvinfer(?:_plugin)?"
    r"|nvonnxparser|nvidia-ml|cupti|nppc"
)
_FILE: Final = re.compile(
    rf"(?:.*[/\\])?(?:lib(?:{_OURS})\.(?:so|dylib)[\d.]*|(?:nvcuda|(?:{_OURS})(?:64)?[\d_]*)\.dll)"
)
_LIBRARY: Final = re.compile(_OURS)
_KINDS: Final = ("c", "py", "win", "ole")
_LOADERS: Final = frozenset(
    [f"ctypes.{kind}dll.LoadLibrary" for kind in _KINDS]
    + ["ctypes.CDLL", "ctypes.PyDLL", "ctypes.WinDLL", "ctypes.OleDLL"]
)
_ASKED: Final = "ctypes.util.find_library"


@rule(
    "NPU949",
    "cuda-library-loaded",
    Safety.MANUAL,
    Severity.ERROR,
    words=("cdll(", "pydll(", "windll(", "oledll(", "loadlibrary(", "find_library("),
    also_in_file=(
        "libcu",
        "libnccl",
        "libnv",
        "nvcuda",
        "cudart",
        "cudnn",
        "cublas",
        '"cuda"',
        "'cuda'",
        "'nccl'",
        '"nccl"',
    ),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="Python documentation, ctypes: loading a library that is not there raises OSError",
)
def cuda_library_loaded(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A program loads a library of CUDA by ctypes; NPU machines have none, and loading raises OSError.

    What is asked of it belongs to GPUs: limits of a device, memory, timers. CANN's own runtime is ``libascendcl.so``,
    with names of its own, which Python reaches by ``acl``.
    """
    name, asked = file.qualname(node.func), node.args[0] if node.args else None
    if not (isinstance(asked, ast.Constant) and isinstance(asked.value, str)):
        return
    if name == _ASKED and _LIBRARY.fullmatch(asked.value):
        yield file.report(
            node,
            phrase("NPU machines have no {library} of NVIDIA's: this is None", library=asked.value),
            severity=Severity.WARNING,
            subject=asked.value,
            advice="see that the program goes on without it",
        )
    elif name in _LOADERS and _FILE.fullmatch(asked.value):
        is_caught = has_fallback(node, file)
        yield file.report(
            node,
            phrase(
                "{library} is a library of NVIDIA's: loading it raises OSError on NPU machines", library=asked.value
            ),
            severity=Severity.WARNING if is_caught else None,
            subject=asked.value,
            advice="see that the program goes on without it"
            if is_caught
            else "take out what is done with it where it tunes a GPU; what is needed is asked of CANN's acl",
        )
