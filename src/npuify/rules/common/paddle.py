"""Whether a file's tensors are PaddlePaddle's, and whether the programs beside a file are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.analysis.project import ProjectIndex
    from npuify.rules.context import PythonFile


def is_of_paddle(file: PythonFile) -> bool:
    """Whether a file imports PaddlePaddle, and no PyTorch beside it."""
    return file.contains(b"paddle") and file.framework == "PaddlePaddle"


def lies_with_paddle(relative: str, project: ProjectIndex) -> bool:
    """Whether the programs nearest to a file are PaddlePaddle's: the folder that holds some is asked first.

    Args:
        relative: the file.
        project: the project.
    """
    paddle = _importing(b"paddle", project)
    if not paddle:
        return False
    torch = _importing(b"torch", project)
    folder = relative.rpartition("/")[0]
    while True:
        inside = f"{folder}/" if folder else ""
        ours = sum(one.startswith(inside) for one in paddle)
        others = sum(one.startswith(inside) for one in torch)
        if ours or others or not folder:
            return ours > others
        folder = folder.rpartition("/")[0]


def stands_without_torch(relative: str, project: ProjectIndex) -> bool:
    """Whether PyTorch's plug-in has no say in a file's Python: the programs beside it are Paddle's, or the project is
    one of JAX's without PyTorch.
    """
    return lies_with_paddle(relative, project) or (
        _is_imported(b"jax", project) and not _is_imported(b"torch", project)
    )


def _is_imported(package: bytes, project: ProjectIndex) -> bool:
    return bool(project.files_with(b"import " + package) or project.files_with(b"from " + package))


def _importing(package: bytes, project: ProjectIndex) -> set[str]:
    return {*project.files_with(b"import " + package), *project.files_with(b"from " + package)}
