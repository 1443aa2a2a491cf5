"""Keras as a package of its own: what of it is in TensorFlow, too, is imported from there."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.knowledge.tensorflow.tables import keras_names
from npuify.language import commas, phrase
from npuify.model import Evidence, Safety
from npuify.rules.registry import rule
from npuify.rules.tensorflow.names import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_VERSIONS: Final = {"1": "1.15", "2": "2.6"}
_FROM: Final = re.compile(r"from\s+(keras[\w.]*)")
_ELSEWHERE: Final = {"Layer": "layers", "InputSpec": "layers", "Model": "", "Input": ""}
"""Names of ``keras.engine``, with the modules that have them."""
_SHOWN: Final = 4


@rule(
    "NPU908",
    "stand-alone-keras",
    Safety.REVIEW,
    words=("import keras", "from keras"),
    also_in_file=("keras",),
    without_torch=True,
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow adapter: guide to porting Keras programs; tf.keras of TensorFlow 1.15.0 and 2.6.5",
)
def stand_alone_keras(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """Only the Keras inside TensorFlow runs on NPUs, not the package of its own.

    Where TensorFlow's has every name that a file uses, it is imported from there; else nothing is edited, and what is
    missing is named. The two differ in details, such as the names of metrics (``acc`` or ``accuracy``); all files of a
    program have to take the same one.

    Before::

        import keras
        import tensorflow as tf
        from keras import backend as K
        from keras.layers.core import Dense

        x = tf.placeholder(tf.float32)
        model = keras.models.Sequential([Dense(1)])
        K.set_learning_phase(1)

    After::

        from tensorflow import keras
        import tensorflow as tf
        from tensorflow.keras import backend as K
        from tensorflow.keras.layers import Dense

        x = tf.placeholder(tf.float32)
        model = keras.models.Sequential([Dense(1)])
        K.set_learning_phase(1)
    """
    if "keras" in file.project.packages or not _imports_keras(node) or file.recall("stand-alone keras"):
        return
    # Names are used in functions, too, in which no word of a rule stands: the whole file is looked at.
    whole = _parsed(file.source.data)
    others = _other_ways(whole)
    if node.lineno in others:
        return
    file.remember("stand-alone keras", True)
    version = _VERSIONS.get(line_of(file), "")
    edits, missing = _edits(whole, others, keras_names(version), file) if version else ([], [])
    advice = "import tensorflow.keras; see that each name that is used exists there"
    if edits:
        advice = (
            "see what metrics are called in what fit returns, and that all files of the program take the same Keras"
        )
    elif missing:
        advice = phrase(
            "import tensorflow.keras; it has no {names} in {version}", names=commas(missing[:_SHOWN]), version=version
        )
    yield file.report(
        node,
        "this file uses the stand-alone Keras, which does not run on NPUs",
        edits=edits,
        safety=Safety.REVIEW if edits else Safety.MANUAL,
        subject="keras",
        advice=advice,
    )


def _imports_keras(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] == "keras" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "keras"


def _parsed(data: bytes) -> ast.Module:
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ast.Module([], [])


def _other_ways(tree: ast.Module) -> set[int]:
    """The lines of imports that are tried before, or after, TensorFlow's own."""
    found: set[int] = set()
    for one in ast.walk(tree):
        if isinstance(one, ast.Try):
            inner = [*ast.walk(one)]
            if any(map(_imports_tensorflow, inner)):
                found |= {each.lineno for each in inner if isinstance(each, (ast.Import, ast.ImportFrom))}
    return found


def _imports_tensorflow(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] == "tensorflow" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tensorflow"


def _edits(
    tree: ast.Module, others: set[int], names: Mapping[str, frozenset[str]], file: PythonFile
) -> tuple[list[Edit], list[str]]:
    """The edits of all imports of a file, and the names that TensorFlow lacks; no edits where it lacks any."""
    edits: list[Edit] = []
    missing: dict[str, None] = {}
    nodes = list(ast.walk(tree))
    known: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and _imports_keras(node) and node.lineno not in others:
            known.update(_bound(node))
            lacks = _lacking(node, names)
            edit = (
                None
                if lacks
                else _import(node, names, file)
                if isinstance(node, ast.Import)
                else _from(node, names, file)
            )
            if edit is None:
                missing.update(dict.fromkeys(lacks or [file.code(node)]))
            else:
                edits.append(edit)
    inner = {id(one.value) for one in nodes if isinstance(one, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            name = _dotted(node, known)
            if name and not _has(name.partition(".")[2], names):
                missing.setdefault(name)
    told = [one.removeprefix("keras.") for one in missing]
    return ([], told) if told or not edits else (edits, [])


def _bound(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """What an import binds, and to what of Keras."""
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    own = [alias for alias in node.names if alias.name.partition(".")[0] == "keras"]
    return {alias.asname or "keras": alias.name if alias.asname else "keras" for alias in own}


def _dotted(node: ast.Attribute, known: Mapping[str, str]) -> str:
    """The name of Keras that an expression spells; empty for others."""
    parts: list[str] = []
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        parts.append(base.attr)
        base = base.value
    if not isinstance(base, ast.Name) or base.id not in known:
        return ""
    start = known[base.id]
    # Classes of Keras may lie elsewhere in TensorFlow's; what is below them is theirs.
    return ".".join([start, *reversed(parts)]) if start.rpartition(".")[2].islower() else ""


def _has(name: str, names: Mapping[str, frozenset[str]]) -> bool:
    """Whether tf.keras has a name: a module of its own, or something in one, whatever is below that."""
    module, rest = "", name
    while rest:
        head, _, rest = rest.partition(".")
        below = f"{module}.{head}".strip(".")
        if below not in names:
            return head in names[module]
        module = below
    return True


def _import(node: ast.Import, names: Mapping[str, frozenset[str]], file: PythonFile) -> Edit | None:
    if len(node.names) != 1:
        return None
    alias = node.names[0]
    inner = alias.name.partition(".")[2]
    if inner and inner not in names:
        return None
    if not inner or not alias.asname:
        # ``import keras.layers`` binds ``keras``.
        written = "from tensorflow import keras" + (f" as {alias.asname}" if alias.asname else "")
    else:
        above, _, last = inner.rpartition(".")
        written = f"from tensorflow.{f'keras.{above}'.strip('.')} import {last} as {alias.asname}"
    return file.replace(node, written)


def _from(node: ast.ImportFrom, names: Mapping[str, frozenset[str]], file: PythonFile) -> Edit | None:
    inner = (node.module or "").partition(".")[2]
    homes = {_home(inner, alias.name, names) for alias in node.names}
    match = _FROM.match(file.code(node))
    if len(homes) != 1 or match is None:
        return None
    start = file.source.start(node)
    return file.edit(start + match.start(1), start + match.end(1), f"tensorflow.keras.{homes.pop()}".rstrip("."))


def _lacking(node: ast.Import | ast.ImportFrom, names: Mapping[str, frozenset[str]]) -> list[str]:
    """What an import names and tf.keras lacks."""
    if isinstance(node, ast.Import):
        inner = [alias.name.partition(".")[2] for alias in node.names if alias.name.partition(".")[0] == "keras"]
        return [f"keras.{one}" for one in inner if one and one not in names]
    module = (node.module or "").partition(".")[2]
    return [f"{node.module}.{one.name}" for one in node.names if _home(module, one.name, names) is None]


def _home(module: str, name: str, names: Mapping[str, frozenset[str]]) -> str | None:
    """The module below tf.keras that has a name of a module of Keras; None where there is none."""
    if module.partition(".")[0] == "engine":
        return _ELSEWHERE.get(name)
    # Modules such as layers.core stand below layers in Keras alone.
    tried = (module,) if module in names else (module.rpartition(".")[0],)
    for one in tried:
        if one in names and (name in names[one] or f"{one}.{name}".strip(".") in names):
            return one
    return None
