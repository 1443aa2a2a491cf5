"""Programs of TensorFlow 2: whether they compute with a model, and where one opens the NPU."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.analysis.project import module_name
from npuify.project.import_graph import imports_of

if TYPE_CHECKING:
    from npuify.analysis.project import ProjectIndex
    from npuify.model import Edit
    from npuify.rules.context import PythonFile

_GRAPHS: Final = re.compile(rb"GradientTape|tf\.function|saved_model\.load\(")
_TRAINS: Final = re.compile(rb"GradientTape|\.(?:fit|fit_generator|train_on_batch)\(")
_EXPORTS: Final = re.compile(rb"\bTFLiteConverter\b|\bTrtGraphConverter\w*\b|\btf2onnx\b")
_PREPARES: Final = re.compile(
    r"prepar|postproc|ckpt|convert|download|preprocess|export|tfrecord|visuali[sz]|plot|setup|(?:^|/|_)(?:data|dataset|create|build)",
    re.IGNORECASE,
)
"""Names of programs that do something else than train."""
_MOST: Final = 60
_CALLS: Final = re.compile(
    rb"\.(?:fit|fit_generator|predict\w*|evaluate|train_on_batch|load_weights|load_model|compile)\("
)


def computes(tree: ast.Module, file: PythonFile) -> bool:
    """Whether a program has a model of TensorFlow's; one that only reads or writes data needs no NPU.

    ``fit`` may be anybody's: it counts beside Keras, and where the model may come from a module of the project's own.
    """
    data = file.source.data
    if _EXPORTS.search(data) and not _TRAINS.search(data):
        return False
    if _GRAPHS.search(data):
        return True
    if _CALLS.search(data) is not None:
        if file.contains(b"keras"):
            return True
        return any(_is_own(item, file) for item in tree.body) and not _models(file).of_another
    return not prepares(file.source.relative) and imports_a_model(file)


def prepares(relative: str) -> bool:
    """Whether a program does something else than train or compute, by its name."""
    return _PREPARES.search(relative) is not None


_IMPORTS_ANOTHER = re.compile(
    rb"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+(?:torch|pytorch_lightning|lightning|mxnet|paddle|jax)\b"
)


def is_of_another(file: PythonFile) -> bool:
    """Whether a program is one of another framework's: TensorFlow is not there, or only beside it.

    A module of the project's own may read TensorFlow's formats as well, and ``import tensorflow`` may stand there for
    its version alone.
    """
    data = file.source.data
    if _IMPORTS_ANOTHER.search(data) is None:
        return False
    return not file.contains(b"tensorflow") or (_GRAPHS.search(data) is None and not file.contains(b"keras"))


_IMPORTS_TORCH = re.compile(rb"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+torch\b")
_TORCH_MODEL = re.compile(rb"\btorch\.nn\b|\bnn\.Module\b|\btorch\.optim\b|\.backward\(|\.cuda\(|\btorch\.device\b")
_JAX_MODEL = re.compile(
    rb"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+(?:flax|haiku|optax|equinox)\b|\bjax\.(?:grad|value_and_grad|pmap)\b"
)


class _Models(NamedTuple):
    """What the project's modules that a program imports have."""

    trains: bool
    """Whether one trains or runs a model of TensorFlow's."""
    of_another: bool
    """Whether one has a model of PyTorch's or JAX's: TensorFlow beside it prepares data, and belongs on the CPU."""
    opens_npu: bool


class _Module(NamedTuple):
    """What a module of the project shows by its text."""

    trains: bool
    """Whether it trains or runs a model."""
    of_another: bool
    """Whether it has a model of PyTorch's or JAX's."""
    opens_npu: bool
    """Whether it opens the NPU itself, before the model is made."""
    imports: tuple[str, ...]
    """The project's files that it imports."""


def imports_a_model(file: PythonFile) -> bool:
    """Whether one of the project's modules that a program imports trains or runs a model, and none has one of PyTorch's
    or JAX's, or opens the NPU."""
    models = _models(file)
    return models.trains and not models.of_another and not models.opens_npu


def _models(file: PythonFile) -> _Models:
    """What the project's modules have that a program imports; looking ends at what is another framework's."""
    trains = opens_npu = False
    project, relative = file.project, file.source.relative
    waiting, seen = [*_imported(file.source.data, relative, project)], {relative}
    while waiting and len(seen) < _MOST:
        relative = waiting.pop()
        if relative in seen:
            continue
        seen.add(relative)
        project.dependencies.add(relative)
        module = _module(relative, project)
        if module.of_another:
            return _Models(trains, True, opens_npu)
        trains, opens_npu = trains or module.trains, opens_npu or module.opens_npu
        waiting += module.imports
    return _Models(trains, False, opens_npu)


def _module(relative: str, project: ProjectIndex) -> _Module:
    """A module, read once for all programs; one that cannot be read shows nothing."""
    key = ("trains_model", relative)
    if key not in project.remembered:
        try:
            raw = (project.root / relative).read_bytes()
        except OSError:
            raw = b""
        trains_model = (b"tensorflow" in raw or b"keras" in raw) and _TRAINS.search(raw) is not None
        on_torch = _TORCH_MODEL.search(raw) is not None and _IMPORTS_TORCH.search(raw) is not None
        of_another = on_torch or _JAX_MODEL.search(raw) is not None
        opens_npu = b"npu_device" in raw and b".open(" in raw
        project.remembered[key] = _Module(trains_model, of_another, opens_npu, _imported(raw, relative, project))
    known: _Module = project.remembered[key]
    return known


def _imported(raw: bytes, relative: str, project: ProjectIndex) -> tuple[str, ...]:
    found = imports_of(raw)
    package = module_name(relative).split(".")
    names = dict.fromkeys(found.absolute)
    for name in found.relative:
        dots = len(name) - len(name.lstrip("."))
        names[".".join([*package[: len(package) - dots], *filter(None, name.lstrip(".").split("."))])] = None
    files = (project.file_of(name) or project.file_of(name.rpartition(".")[0]) for name in names)
    return tuple(one for one in files if one is not None)


def imports_tensorflow(item: ast.AST) -> bool:
    """Whether a statement imports TensorFlow, or what lies on it."""
    if isinstance(item, ast.Import):
        return any(alias.name.partition(".")[0] in ("tensorflow", "tensorflow_addons") for alias in item.names)
    return isinstance(item, ast.ImportFrom) and not item.level and (item.module or "").startswith("tensorflow")


def _is_own(item: ast.stmt, file: PythonFile) -> bool:
    """Whether a statement imports a module of the project's own, which may hold functions of TensorFlow."""
    if isinstance(item, ast.ImportFrom):
        module = item.module or ""
        top = module.partition(".")[0]
        own = file.project.file_of(top) is not None or (
            top in file.project.packages and file.project.file_of(module) is not None
        )
        return bool(item.level) or own
    names = [alias.name.partition(".")[0] for alias in item.names] if isinstance(item, ast.Import) else []
    return any(name in file.project.packages or file.project.file_of(name) is not None for name in names)


def opening(tree: ast.Module, file: PythonFile) -> Edit | None:
    """The edit that opens the NPU: behind TensorFlow's import, or before the first of the project's own modules."""
    newline = file.source.text.newline
    lines = ["import npu_device", "", "npu_device.open().as_default()"]
    starts = file.source.text.line_starts
    if not any(imports_tensorflow(item) or _is_own(item, file) for item in tree.body):
        return None
    for item in tree.body:
        if not isinstance(item, (ast.Import, ast.ImportFrom)) or item.col_offset:
            continue
        if _is_own(item, file):
            start = file.source.start(item)
            return file.edit(start, start, "".join(line + newline for line in lines) + newline)
        if imports_tensorflow(item):
            line = item.end_lineno or item.lineno
            if line >= len(starts):
                return None
            if file.source.segment(file.source.end(item), starts[line]).lstrip().startswith(";"):
                return None
            following = starts[line + 1] if line + 1 < len(starts) else len(file.source.data)
            more = newline if file.source.segment(starts[line], following).strip() else ""
            return file.edit(starts[line], starts[line], "".join(text + newline for text in lines) + more)
    return None
