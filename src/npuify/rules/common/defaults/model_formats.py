"""Programs that run models of many formats: the name of the model's file tells which, and weights are the default.

``pt, jit, onnx, engine = self._model_type(weights)`` gives one flag for each format, and an ``elif engine:`` imports
what only that one needs.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.rules.common.defaults.options import Known

if TYPE_CHECKING:
    from npuify.analysis.project import ProjectIndex
    from npuify.rules.context import PythonFile

_ASKS: Final = re.compile(r"_?(?:get_)?(?:model|backend|file)_?(?:type|format)s?")
_WEIGHTS: Final = "pt"
_OTHERS: Final = frozenset(
    "jit onnx xml engine coreml saved_model pb tflite edgetpu tfjs paddle ncnn mnn triton".split()
)
_FEWEST: Final = 4
"""Formats that such a function tells apart."""
_OPTION: Final = rb"add_argument\(\s*['\"]--(?:weights|model|checkpoint|ckpt)['\"][^)]*"
_DEFAULT: Final = re.compile(_OPTION + rb"default\s*=[^)]*['\"][\w./-]*\.(\w+)['\"]")
_MOST_FILES: Final = 30


def of_model_format(node: ast.Name, file: PythonFile) -> Known | None:
    """What a flag for a format is where the program is started with its own weights; None: it is no such flag, or an
    option of the project names a model of another format by default.

    Args:
        node: the flag.
        file: its file.
    """
    if node.id != _WEIGHTS and node.id not in _OTHERS:
        return None
    if not _is_told_by_type(node, file) or not file.project.once("default-weights", _are_weights_by_default):
        return None
    if node.id == _WEIGHTS:
        return Known(True, phrase("a model file of another format"))
    return Known(False, phrase("a model file of another format ({name})", name=node.id))


def _is_told_by_type(node: ast.Name, file: PythonFile) -> bool:
    """Whether one statement of the same function unpacks the flags of all formats, and nothing else binds this one."""
    scope = file.scope(node)
    binding = [
        one
        for one in file.nodes_on_lines_with(node.id)
        if isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load)
    ]
    binding = [one for one in binding if file.scope(one) is scope]
    target = file.parent(binding[0]) if len(binding) == 1 else None
    statement = file.parent(target) if isinstance(target, ast.Tuple) else None
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    called = statement.value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    flags = {one.id for one in target.elts if isinstance(one, ast.Name)} if isinstance(target, ast.Tuple) else set()
    return _ASKS.fullmatch(name) is not None and _WEIGHTS in flags and len(flags & _OTHERS) >= _FEWEST


def _are_weights_by_default(project: ProjectIndex) -> bool:
    """Whether the options of the project that name a model default to weights of PyTorch, all of them."""
    declaring = [one for one in project.files_with(b"add_argument(") if one.endswith(".py")]
    if len(declaring) > _MOST_FILES:
        return False
    found: set[bytes] = set()
    for relative in declaring:
        try:
            found.update(_DEFAULT.findall(project.read(relative)))
        except OSError:
            return False
    return bool(found) and found <= {b"pt", b"pth", b"yaml"} and not found.isdisjoint((b"pt", b"pth"))
