"""Whether a file's tensors are PaddlePaddle's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


def is_of_paddle(file: PythonFile) -> bool:
    """Whether a file imports PaddlePaddle, and no PyTorch beside it."""
    return file.contains(b"paddle") and file.framework == "PaddlePaddle"
