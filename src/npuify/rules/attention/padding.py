"""flash_attn's bert_padding, which is plain PyTorch: the import takes a module that is written into the project."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.helpers import PADDING
from npuify.rules.common.packages.helper_modules import home_of, import_of

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile

_MODULE = "flash_attn.bert_padding"
_SAME = frozenset(("pad_input", "index_first_axis", "index_put_first_axis"))
_OF_EINOPS = frozenset(("rearrange", "repeat"))
"""What the module only hands on."""
_UNPAD = "unpad_input"
_BY_COUNT = {4: "unpad_input", 5: "unpad_input_used"}
"""How many values a release's ``unpad_input`` returns → its form in the helper."""


def padding_edits(node: ast.ImportFrom, file: PythonFile) -> list[Edit]:
    """The edit of ``from flash_attn.bert_padding import …``; none where a name, or its release, is unknown."""
    if node.level or node.module != _MODULE:
        return []
    if any(alias.name not in (*_SAME, _UNPAD, *_OF_EINOPS) for alias in node.names):
        return []
    statement = file.source.data[file.source.start(node) : file.source.end(node)]
    if b"#" in statement or b"\\" in statement:
        return []
    parts = []
    of_einops = [alias for alias in node.names if alias.name in _OF_EINOPS]
    for alias in node.names:
        if alias in of_einops:
            continue
        form: str | None = alias.name
        if alias.name == _UNPAD:
            form = _form_of_unpad(alias, file)
            if form is None:
                return []
        bound = alias.asname or alias.name
        parts.append(form if form == bound else f"{form} as {bound}")
    full = import_of(PADDING, home_of(file.source.relative, file.project), file.project, file.source)
    statements = [f"from {full} import {', '.join(str(part) for part in parts)}"] if parts else []
    if of_einops:
        names = ", ".join(f"{one.name} as {one.asname}" if one.asname else one.name for one in of_einops)
        statements.append(f"from einops import {names}")
    line = file.source.text.line_starts[node.lineno - 1]
    indent = file.source.segment(line, file.source.start(node))
    if indent.strip():
        return []
    return [file.replace(node, f"{file.source.text.newline}{indent}".join(statements))]


def _form_of_unpad(alias: ast.alias, file: PythonFile) -> str | None:
    """The form that returns as many values as the file takes; None where that cannot be told."""
    bound = alias.asname or alias.name
    counts: set[int] = set()
    for node in file.nodes_on_lines_with(bound):
        if not isinstance(node, ast.Name) or node.id != bound or not isinstance(node.ctx, ast.Load):
            continue
        call = file.parent(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            return None
        taken = _taken(call, file)
        if taken is None:
            return None
        counts |= taken
    fits = [form for count, form in _BY_COUNT.items() if counts <= {count}]
    return fits[0] if fits else None


def _taken(call: ast.Call, file: PythonFile) -> set[int] | None:
    """The counts of values that a call's result must have: none where any will do; None where it cannot be told."""
    if len(call.args) > 2 or any(item.arg not in ("hidden_states", "attention_mask") for item in call.keywords):
        return {5}
    parent = file.parent(call)
    if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
        at = parent.slice.value
        return set() if isinstance(at, int) and 0 <= at < min(_BY_COUNT) else None
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Tuple):
        return None
    targets = parent.targets[0].elts
    if any(isinstance(item, ast.Starred) for item in targets):
        # a, b, c, d, *rest takes either; nothing else is known of what it does with the rest
        return set() if len(targets) <= min(_BY_COUNT) + 1 and isinstance(targets[-1], ast.Starred) else None
    return {len(targets)}
