"""What torch_npu changes in torch: when it is imported, and when ``transfer_to_npu`` is."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

from .modules import Reader, assigned_names, dotted, strings

if TYPE_CHECKING:
    from collections.abc import Collection

    from .wheel import Wheel

TRANSFER = "torch_npu.contrib.transfer_to_npu"


def patched_names(reader: Reader, modules: Collection[str]) -> list[str]:
    """Names under ``torch`` that the code of ``modules`` sets, that of what a user switches on left out.

    Functions that nothing mentions are dead code, so what only they set does not count.
    """
    asked_for = (TRANSFER, "torch_npu.npu._sanitizer", "torch_npu.npu._stream_check")
    trees = {m: tree for m in modules if m not in asked_for and (tree := reader.tree(m)) is not None}
    used: set[str] = set()
    for tree in trees.values():
        used |= _names_read(tree)
    found: set[str] = set()
    for module, tree in trees.items():
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not (
                node.name in used or node.decorator_list
            ):
                continue
            for name, _ in assigned_names(node, "torch"):
                found.add(name)
            found |= _names_in_tables(node) if module.startswith("torch_npu._init.patches") else set()
            found |= _generated_methods(reader, node)
    return sorted(n for n in found if not n.startswith("torch._C._") and "torch_npu" not in n)


def _names_read(tree: ast.Module) -> set[str]:
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
    return used


def _names_in_tables(node: ast.stmt) -> set[str]:
    """Targets of a table such as ``[("distributed.gather", "distributed.distributed_c10d._gather"), …]``."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List):
        return set()
    rows = [strings(e) for e in node.value.elts if isinstance(e, ast.Tuple)]
    if len(rows) != len(node.value.elts) or any(len(row) != 2 or "." not in row[0] for row in rows):
        return set()
    return {f"torch.{row[0]}" for row in rows}


_GENERATED = {
    "for_tensor": ("torch.Tensor.npu", "torch.Tensor.is_npu"),
    "for_module": ("torch.nn.Module.npu",),
    "for_packed_sequence": ("torch.nn.utils.rnn.PackedSequence.npu", "torch.nn.utils.rnn.PackedSequence.is_npu"),
    "for_storage": (
        "torch.TypedStorage.npu",
        "torch.TypedStorage.is_npu",
        "torch.UntypedStorage.npu",
        "torch.UntypedStorage.is_npu",
    ),
}
"""What each flag of ``torch.utils.generate_methods_for_privateuse1_backend`` makes, with the backend named ``npu``."""


def _generated_methods(reader: Reader, node: ast.AST) -> set[str]:
    out: set[str] = set()
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        if not (dotted(call.func) or "").endswith("generate_methods_for_privateuse1_backend"):
            continue
        flags = _defaults(reader, "torch.utils.backend_registration", "generate_methods_for_privateuse1_backend")
        for keyword in call.keywords:
            if keyword.arg in flags and isinstance(keyword.value, ast.Constant):
                flags[keyword.arg] = bool(keyword.value.value)
        for flag, names in _GENERATED.items():
            if flags.get(flag):
                out.update(names)
    return out


def _defaults(reader: Reader, module: str, function: str) -> dict[str, bool]:
    node = reader.namespace(module).names.get(function)
    if node is None or not isinstance(node.node, ast.FunctionDef):
        return {}
    a = node.node.args
    positional = a.args[len(a.args) - len(a.defaults) :]
    pairs = [*zip(positional, a.defaults, strict=True), *zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return {p.arg: bool(d.value) for p, d in pairs if isinstance(d, ast.Constant)}


def transfer_patches(reader: Reader, wheel: Wheel) -> list[str]:
    """Everything that ``transfer_to_npu`` of this wheel replaces or wraps, as dotted names, sorted.

    Read from its lists (``_device_wrapper(module, names)``), its tables of replacements (``[[name, replacement], …]``),
    its assignments to names of torch, and the functions of other libraries in ``apis_config.json``.
    """
    tree = reader.tree(TRANSFER)
    if tree is None:
        return []
    lists = {
        target.id: strings(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = {name for name, _ in assigned_names(tree, "torch")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) == "_device_wrapper" and len(node.args) == 2:
            owner = dotted(node.args[0])
            names = node.args[1]
            if owner and owner.startswith("torch."):
                listed = lists.get(names.id, []) if isinstance(names, ast.Name) else strings(names)
                found |= {f"{owner}.{name}" for name in listed}
            elif owner == "torch":
                listed = lists.get(names.id, []) if isinstance(names, ast.Name) else strings(names)
                found |= {f"torch.{name}" for name in listed}
        elif isinstance(node, ast.Assign):
            found |= _replaced(node.value)
    config = wheel.text("torch_npu/contrib/apis_config.json")
    if config is not None:
        for library in json.loads(config).values():
            found |= set(library.get("apis", {}))
    return sorted(found)


def _replaced(table: ast.expr) -> set[str]:
    """The first columns of a table such as ``[["cuda.amp", torch_npu.npu.amp], …]``, below ``torch``."""
    rows = table.elts if isinstance(table, ast.List) else []
    pairs = [row.elts for row in rows if isinstance(row, ast.List) and len(row.elts) == 2]
    return {f"torch.{name}" for name_node, value in pairs if dotted(value) for name in strings(name_node)}


def transfer_modules(reader: Reader) -> dict[str, list[str]]:
    """Modules that ``transfer_to_npu`` writes over, and the names that it sets in each, sorted.

    Its rows ``["cuda.amp", torch_npu.npu.amp]`` go to ``_apply_patches``, which sets each name of the second module's
    ``__all__`` in the first, where that is there; all else in it stays as it was.
    """
    tree = reader.tree(TRANSFER)
    out: dict[str, list[str]] = {}
    for node in ast.walk(tree) if tree is not None else ():
        rows = node.value.elts if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) else []
        for row in rows:
            if not isinstance(row, ast.List) or len(row.elts) != 2 or len(strings(row)) != 1:
                continue
            module = _module_meant(reader, dotted(row.elts[1]) or "")
            exported = reader.namespace(module).all if module else None
            if exported is not None:
                out[f"torch.{strings(row)[0]}"] = sorted(set(exported))
    return out


def _module_meant(reader: Reader, name: str) -> str:
    """The module that ``torch_npu.npu.amp`` names, also where a package binds it by import; empty for what is none."""
    if reader.exists(name):
        return name
    package, _, last = name.rpartition(".")
    if not package or not reader.exists(package):
        return ""
    binding = reader.lookup(package, last)
    return binding.module if binding is not None and binding.kind == "module" else ""
