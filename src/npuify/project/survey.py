"""What a project is: what is started, on which frameworks it stands, and whether it brings CUDA kernels of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.model import Survey
from npuify.project.entry_points import entry_points
from npuify.project.frameworks.found import frameworks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from npuify.project.files import ProjectFile
    from npuify.project.import_graph import ImportGraph
    from npuify.project.traces import Trace

KINDS: Final = ("python", "cuda", "native", "shell", "docker", "make", "text", "requirements", "toml", "ini", "yaml")
"""The kinds of files that a survey looks at."""

_REQUIREMENTS: Final = frozenset({"setup.py", "setup.cfg", "pyproject.toml", "pipfile"})


def survey(files: Sequence[ProjectFile], traces: Mapping[str, Trace], graph: ImportGraph | None = None) -> Survey:
    """The survey of a project. Nothing of it is imported or executed.

    Args:
        files: all files of the kinds ``KINDS``.
        traces: what its Python files show, by relative path.
        graph: what these import of each other; without it, it is read.
    """
    asking = [file for file in files if _asks(file)]
    asking.sort(key=lambda file: (file.relative.count("/"), file.kind != "requirements", file.relative))
    packages = [one for one in frameworks(traces, asking) if not _is_own(one.name, traces)]
    kernels = tuple(file.relative for file in files if file.kind == "cuda")
    return Survey(entry_points(files, traces, graph), tuple(packages), kernels)


_BESIDE_TENSORFLOW: Final = frozenset(
    "accelerate colossalai deepspeed fairseq flax jax lightning mmcv mmengine mxnet paddle pytorch_lightning sglang "
    "torch torch_npu torchaudio torchvision vllm".split()
)
"""Packages with which a project computes in something else than TensorFlow."""


def share_of_tensorflow(survey: Survey) -> str:
    """How much of a project computes with TensorFlow, as far as its imports show.

    Returns:
        ``alone`` where nothing else does, ``mostly`` where three times as many files import it as the next, else empty.
    """
    files = {one.name: one.files for one in survey.frameworks}
    others = [files[name] for name in _BESIDE_TENSORFLOW if name in files]
    if "tensorflow" not in files:
        return ""
    if not others:
        return "alone"
    return "mostly" if files["tensorflow"] >= 3 * max(others) else ""


def _is_own(package: str, files: Mapping[str, Trace]) -> bool:
    """Whether the project itself is this package: a project imports itself more than anything else."""
    folder = package.replace(".", "/")
    if f"{folder}/__init__.py" in files or f"src/{folder}/__init__.py" in files:
        return True
    # A namespace package has no __init__.py itself; its parts have.
    own = re.compile(rf"(?:src/)?{re.escape(folder)}/\w+/__init__\.py")
    return any(map(own.fullmatch, files))


def _asks(file: ProjectFile) -> bool:
    name = file.relative.rsplit("/", 1)[-1].lower()
    if file.kind == "requirements" or name in _REQUIREMENTS:
        return True
    return file.kind == "yaml" and name.startswith(("environment", "conda"))
