"""Libraries of CUDA that programs load by ctypes."""

from __future__ import annotations

import pytest

from ...harness import findings, output

HEAD = "import ctypes\nimport ctypes.util\nimport torch\nfrom ctypes import CDLL, cdll\n\n"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ('lib = ctypes.CDLL("libcudart.so")\n', "error"),
        ('lib = CDLL("/usr/local/cuda/lib64/libcudart.so.11.0")\n', "error"),
        ('lib = cdll.LoadLibrary("libnvidia-ml.so.1")\n', "error"),
        ('lib = CDLL("nvcuda.dll")\n', "error"),
        ('try:\n    lib = CDLL("libnccl.so.2")\nexcept OSError:\n    lib = None\n', "warning"),
        ('name = ctypes.util.find_library("cudart")\n', "warning"),
        ('lib = CDLL("libc.so.6")  # libcudart\n', ""),
        ('lib = CDLL("libcudamine.so")\n', ""),
        ('lib = load("libcudart.so")\n', ""),
    ],
)
@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_a_library_that_is_not_there_is_told(text: str, severity: str, framework: str) -> None:
    text = HEAD.replace("torch", framework) + text
    told = [str(one.severity.value) for one in findings(text) if one.code == "NPU949"]
    assert told == ([severity] if severity else [])
    assert output(text, unsafe=True).endswith(text.rpartition("\n\n")[2])
