"""Whether a program is one for TensorFlow: by what it imports. Nothing of it is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.project.import_graph import imports_of
from npuify.project.known_frameworks import FRAMEWORKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TENSORFLOW: Final = frozenset(("tensorflow", "npu_bridge", "npu_device", "tensorflow_core"))
_BESIDE: Final = frozenset(("tensorflow", "keras", "horovod"))
_TORCH: Final = frozenset(("torch", "torch_npu"))
AVERAGES: Final = re.compile(
    rb"\b(?:npu_distributed_optimizer_wrapper|NPUDistributedOptimizer|NPUOptimizer|KerasDistributeOptimizer|npu_tf_optimizer"
    rb"|npu_keras_optimizer|npu_distributed_keras_optimizer_wrapper|npu_allreduce|all_?reduce|grouping_gradients_apply)\b"
)
"""What averages gradients, or anything else, over the ranks."""
_MOST: Final = 200
"""Files that are looked at."""


def is_for_tensorflow(arguments: Sequence[str], module: bool = False) -> bool:
    """Whether the program, with the files beside it that it imports, imports TensorFlow and not PyTorch.

    What cannot be found as a Python file, such as a shell script or an installed command, is none as far as is known.
    """
    first = _file(arguments, module)
    if first is None:
        return False
    found = {name.partition(".")[0] for _, _, names in program_files(first) for name in names}
    return bool(found & _TENSORFLOW) and not found & _TORCH


def has_tensorflow_alone(arguments: Sequence[str], module: bool = False) -> bool:
    """Whether a program imports TensorFlow and no other framework: others may bring torch along."""
    first = _file(arguments, module)
    if first is None:
        return False
    found = {name.partition(".")[0] for _, _, names in program_files(first) for name in names}
    return bool(found & _TENSORFLOW) and not found & (FRAMEWORKS.keys() - _BESIDE)


def refuse_tensorflow(arguments: Sequence[str], module: bool, command: str, instead: str) -> None:
    """Stop a command that is for PyTorch before it starts a program that is for TensorFlow.

    Args:
        arguments: the program and its arguments.
        command: the command, as a user calls it.
        instead: what to do.

    Raises:
        NpuifyError: the program is one for TensorFlow.
    """
    if has_tensorflow_alone(arguments, module):
        raise NpuifyError(
            phrase("{command} is for PyTorch, and this program is for TensorFlow", command=command), advice=instead
        )


def program_files(first: Path) -> Iterator[tuple[Path, bytes, set[str]]]:
    """A program's file and those beside it that it imports, with their text and the names that they import."""
    waiting, seen = [first], {first.resolve()}
    while waiting and len(seen) < _MOST:
        file = waiting.pop()
        try:
            raw = file.read_bytes()
        except OSError:
            continue
        written = imports_of(raw)
        names = {*written.absolute, *written.relative}
        yield file, raw, names
        for other in _beside(first.parent, file.parent, names):
            if other.resolve() not in seen:
                seen.add(other.resolve())
                waiting.append(other)


def averages(first: Path) -> bool:
    """Whether something in a program averages gradients over several ranks, as far as the names in its files tell."""
    return any(AVERAGES.search(raw) is not None for _, raw, _ in program_files(first))


def _file(arguments: Sequence[str], module: bool) -> Path | None:
    words = list(arguments)
    if words and Path(words[0]).name in ("python", "python3"):
        words = words[1:]
        if words[:1] == ["-m"]:
            module, words = True, words[1:]
    if not words:
        return None
    if module:
        place = Path(*words[0].split("."))
        tried = [place.with_suffix(".py"), place / "__main__.py"]
    else:
        tried = [Path(words[0])] if words[0].endswith(".py") else []
    return next((one for one in tried if one.is_file()), None)


def _beside(root: Path, folder: Path, names: set[str]) -> Iterator[Path]:
    # ``from . import x`` names the folder itself.
    for name in filter(None, (name.strip(".") for name in names)):
        parts = name.split(".")
        for base in {root, folder, Path()}:
            for end in range(len(parts), 0, -1):
                place = base.joinpath(*parts[:end])
                for tried in (place.with_suffix(".py"), place / "__init__.py"):
                    if tried.is_file():
                        yield tried
