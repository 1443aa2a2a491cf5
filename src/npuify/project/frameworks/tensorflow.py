"""Which TensorFlow a project asks for, as its requirement files and images say, and which its files are written for.

All is read as text.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PATTERNS: Final = (
    *("requirements.txt", "*requirements*.txt", "requirements/*.txt", "constraints.txt", "pyproject.toml", "setup.py"),
    *("setup.cfg", "*environment*.yml", "*environment*.yaml", "*conda*.yml", "*conda*.yaml", "Pipfile", "*Dockerfile*"),
)
_ONLY_1: Final = re.compile(
    rb"\btf1?\.(?:Session|InteractiveSession|placeholder|contrib|app\.|flags\b|ConfigProto|GPUOptions|get_variable\b|"
    rb"global_variables_initializer|layers\.|logging\.|gfile\.|train\.(?:Adam|GradientDescent|Momentum|RMSProp)Optimizer|"
    rb"estimator\.(?:tpu|inputs)|enable_eager_execution|reset_default_graph|assign\b|variable_scope|set_random_seed|"
    rb"random_normal|random_uniform|truncated_normal|to_float|to_int32|log\(|python_io|summary\.(?:FileWriter|merge_all)|"
    rb"train\.(?:Saver|Coordinator|start_queue_runners|Supervisor|MonitoredTrainingSession|SessionRunHook)|"
    rb"image\.resize_(?:bilinear|images)|nn\.softmax_cross_entropy_with_logits_v2|get_default_session|trainable_variables)"
    rb"|\btensorflow\.contrib\b|\bdisable_v2_behavior|\bdisable_eager_execution|\bmulti_gpu_model\b|\bset_session\("
    rb"|\bget_session\("
)
_ONLY_2: Final = re.compile(
    rb"\btf\.(?:function\b|GradientTape|config\.(?:list_(?:physical|logical)_devices|set_visible_devices|"
    rb"run_functions_eagerly)|distribute\.(?:MultiWorkerMirrored|TPU)Strategy|nn\.silu\b|"
    rb"keras\.layers\.(?:MultiHeadAttention|Normalization|TextVectorization|Rescaling|Random[A-Z]|experimental\.preprocessing)|"
    rb"keras\.mixed_precision|random\.set_seed|summary\.create_file_writer|keras\.optimizers\.legacy|data\.AUTOTUNE|"
    rb"optimizers\.|keras\.utils\.(?:set_random_seed|image_dataset_from_directory)|"
    rb"keras\.preprocessing\.(?:image|text)_dataset_from_directory)"
    rb"|\bset_global_policy\(|\bmixed_precision\.(?:Policy|LossScaleOptimizer)\("
    rb"|\bimport tensorflow\.compat\.v2\b|\bDistributedGradientTape\b|\bexperimental_run_v2\b|\bstrategy\.run\("
)
_STARTS: Final = re.compile(rb"^(?:if[ (]+__name__|with |for |while |sess|model\.fit|estimator\.)", re.MULTILINE)
_TESTS: Final = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*_test\.py$|conftest\.py$)")
_DISABLES_2: Final = re.compile(rb"\b(?:disable_v2_behavior|disable_eager_execution)\(")


class Marks(NamedTuple):
    """How many of a project's files are written for TensorFlow 1 only, and for 2 only, as far as their text shows."""

    first: int = 0
    second: int = 0
    folders: tuple[tuple[str, str], ...] = ()
    """Folders with requirements of their own on TensorFlow, the innermost first, with the line that they are for."""

    @property
    def line(self) -> str:
        """The line of TensorFlow that the files are for, ``1`` or ``2``; empty where they are of both kinds or none."""
        if self.first == self.second:
            return ""
        if self.first >= 2 * self.second:
            return "1"
        return "2" if self.second >= 2 * self.first else ""


def written_for(data: bytes) -> tuple[bool, bool]:
    """Whether a file's text has names that only TensorFlow 1 knows, and such that only 2 knows."""
    return _ONLY_1.search(data) is not None, _ONLY_2.search(data) is not None


def disables_second(data: bytes) -> bool:
    """Whether a program for TensorFlow 2 says that it runs code for 1."""
    return _DISABLES_2.search(data) is not None


def starts_something(data: bytes) -> bool:
    """Whether a file is a program by its text: it has a main guard, or does something below its definitions."""
    return _STARTS.search(data) is not None


def marks_of(root: Path, files: Iterable[str]) -> Marks:
    """What the given Python files are written for; tests, and those that cannot be read, are passed over."""
    first = second = 0
    for file in files:
        if _TESTS.search(file):
            continue
        try:
            one, two = written_for((root / file).read_bytes())
        except OSError:
            continue
        first += one and not two
        second += two and not one
    return Marks(first, second)


def own_requirements(root: Path, files: Iterable[str]) -> list[tuple[str, str]]:
    """Folders below ``root`` whose own files ask for TensorFlow, the innermost first, and what they ask, as
    :func:`tensorflow_specifier` says it; empty where they leave the version open.

    Args:
        root: the project.
        files: the names of its files.
    """
    kinds = [pattern for pattern in _PATTERNS if "/" not in pattern]
    folders = {
        name.rpartition("/")[0]
        for name in files
        if "/" in name and any(fnmatchcase(name.rpartition("/")[2], kind) for kind in kinds)
    }
    asked = [(folder, tensorflow_specifier(root / folder)) for folder in sorted(folders, key=len, reverse=True)]
    return [(folder, text) for folder, text in asked if text or _names_it(root / folder)]


_NAMED: Final = re.compile(r"^[ \t]*-?[ \t]*[\"']?tensorflow(?:[-_](?:gpu|cpu))?[\"']?[ \t]*(?:[#,;]|$)", re.MULTILINE)


def _names_it(folder: Path) -> bool:
    """Whether the requirements of a folder name TensorFlow without a version."""
    return any(_NAMED.search(_text(file)) for pattern in _PATTERNS for file in sorted(folder.glob(pattern)))


_LARGEST: Final = 1_000_000
_ASKED: Final = re.compile(
    r"(?<![\w./-])tensorflow(?:[-_](?:gpu|cpu))?[\"']?\s*(?:\[[^\]\n]*\])?\s*(?:[=:]\s*[\"']\s*)?"
    r"(?P<version>[=<>~!]=?\s*\d[\w.*]*(?:\s*,\s*[=<>~!]=?\s*\d[\w.*]*)*)",
    re.IGNORECASE,
)
_IMAGE: Final = re.compile(r"\btensorflow/tensorflow:(?P<version>\d+\.\d+(?:\.\d+)?)")
_IMAGE_OF_NVIDIA: Final = re.compile(r"\bnvcr\.io/nvidia/tensorflow:[\d.]+-tf(?P<line>[12])\b")
"""One for each line; which TensorFlow is in it, its release notes tell."""
_IN_IMAGE: Final = {"1": "==1.15.*", "2": ">=2.0"}


def tensorflow_specifier(root: Path | str) -> str:
    """What the project at ``root`` asks of TensorFlow, as PEP 440 writes it; empty where it does not say.

    The first place that bounds the version from above counts, else the first that names one. A file that cannot be read
    is passed over.
    """
    folder = Path(root)
    if not folder.is_dir():
        folder = folder.parent
    first = ""
    for specifier in _asked(folder):
        if re.search(r"==|~=|<", specifier):
            return specifier
        first = first or specifier
    return first


def _asked(folder: Path) -> Iterator[str]:
    seen = set[Path]()
    for pattern in _PATTERNS:
        for file in sorted(folder.glob(pattern)):
            if file in seen:
                continue
            seen.add(file)
            yield from _specifiers(_text(file))


def _text(file: Path) -> str:
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return ""
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _specifiers(text: str) -> Iterator[str]:
    for line in text.splitlines():
        code = line.split("#", 1)[0][:2000]
        for match in _ASKED.finditer(code):
            written = re.sub(r"\s|(?<=\d)(?:rc|a|b)\d+", "", match["version"])
            single = re.fullmatch(r"=(\d[\w.]*)", written)
            if single:  # conda: one sign means any patch
                written = f"=={single[1]}" if single[1].count(".") > 1 else f"=={single[1]}.*"
            try:
                SpecifierSet(written)
            except InvalidSpecifier:
                continue
            yield written
        for match in _IMAGE_OF_NVIDIA.finditer(code):
            yield _IN_IMAGE[match["line"]]
        for match in _IMAGE.finditer(code):
            yield f"=={match['version']}" if match["version"].count(".") > 1 else f"=={match['version']}.*"
