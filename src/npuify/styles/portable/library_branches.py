"""Portable forms of libraries that only CUDA has: their calls stay for CUDA, and an NPU takes another way.

A branch is written only where the rule has proven what stands for the call on an NPU. The import of the library goes
below ``if compute_device.type != "npu":`` as soon as nothing needs it on an NPU any more, which is the rule NPU127.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.rules.common.edits.statements import ends_its_line, indentation
from npuify.rules.common.helper_branches import helper, never_on_npu, only_on_npu
from npuify.rules.precision.apex_forms import canonical
from npuify.rules.precision.apex_uses import NO_TORCH, PERHAPS_IMPORTED, bound_names
from npuify.styles.branches import branch, choice, edited, has_own_way_without, in_several_lines_of_text
from npuify.styles.spelling import in_formatted_string

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.common.packages.name_uses import Use
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic
    from npuify.rules.precision.apex_forms import Conversion
    from npuify.rules.precision.apex_uses import Bound

_ODD: Final = "this spelling cannot be edited in place"


def attention(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``flash_attn_func(…)`` → ``torch_npu.npu_fusion_attention(…)[0] if compute_device.type == "npu" else`` that."""
    if not isinstance(node, ast.Call) or len(diagnostic.edits) != 1 or in_formatted_string(node, file):
        return _ODD
    if in_several_lines_of_text(node):
        return "an argument is a multi-line string"
    if has_own_way_without(node.func, file):
        return None
    npu = diagnostic.edits[0].after.replace("torch_npu.", f"{helper(file)}.torch_npu.", 1)
    return [file.replace(node, npu if only_on_npu(node, file) else choice(npu, node, file))]


def apex(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """A class or function of apex that torch has as well: apex's for CUDA, torch's for an NPU.

    Where both are called alike, the import chooses: every use stays as it is. Else each call does.
    """
    from npuify.rules.precision.apex import conversion_of

    bound = next((item for item in bound_names(file) if item.alias is node), None)
    uses = list(bound.uses) if bound is not None else [use for use in _all_uses(file) if use.node is node]
    pending = [use for use in uses if not never_on_npu(use.node, file)]
    if not pending:
        return None if uses else PERHAPS_IMPORTED
    found: list[tuple[Use, Conversion]] = []
    for use in pending:
        converted = conversion_of(use, canonical(use.name), file)
        if isinstance(converted, str):
            return converted
        found.append((use, converted))
    if (
        bound is not None
        and len(pending) == len(uses)
        and bound.uses
        and not any(one.edits or one.form.member for _, one in found)
    ):
        targets = {one.form.target for _, one in found}
        if len(targets) == 1:
            return _chosen_at_import(bound, targets.pop(), file)
    edits = []
    for use, conversion in found:
        if file.source.name_target("torch", file.scope(use.node)) != "torch":
            return NO_TORCH
        if in_formatted_string(use.node, file) or in_several_lines_of_text(use.node):
            return _ODD
        whole = use.call if use.call is not None else use.node
        name = file.replace(use.node, conversion.form.target + conversion.form.member)
        if only_on_npu(use.node, file):
            edits += [name, *conversion.edits]
            continue
        edits.append(file.replace(whole, choice(edited(whole, [name, *conversion.edits], file), whole, file)))
    return edits


def _all_uses(file: PythonFile) -> list[Use]:
    return [use for bound in bound_names(file) for use in bound.uses]


def _chosen_at_import(bound: Bound, target: str, file: PythonFile) -> list[Edit] | str:
    """``from apex.normalization import FusedLayerNorm`` → that, or torch's class under the same name."""
    statement = bound.statement
    indent = indentation(statement, file)
    whole = file.source.data[file.source.start(statement) : file.source.end(statement)]
    if indent is None or not isinstance(statement, ast.ImportFrom) or not ends_its_line(statement, file):
        return "the statement shares its line with another"
    if b"#" in whole:
        return "the statement contains comments"
    module, _, own = target.rpartition(".")
    taken = own if own == bound.name else f"{own} as {bound.name}"
    lines = []
    others = [_text(alias) for alias in statement.names if alias is not bound.alias]
    if others:
        lines.append(f"from {statement.module} import {', '.join(others)}")
    lines += [f'if {helper(file)}.type == "npu":', f"    from {module} import {taken}"]
    lines += ["else:", f"    from {statement.module} import {_text(bound.alias)}"]
    return [file.replace(statement, (file.source.text.newline + indent).join(lines))]


def package_import(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``from torch_scatter import scatter_add`` → that on CUDA, and the module in its place on an NPU."""
    return _imports(node, [line.strip() for line in diagnostic.edits[0].after.splitlines()], file)


def device_library(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """NVIDIA's device library for Triton on CUDA; on an NPU what binds the same names, so that kernels stay."""
    from npuify.rules.packages.extensions.triton_libdevice import imports_on_npu

    if isinstance(node, ast.Attribute):
        return list(diagnostic.edits)  # Triton's own language computes it everywhere
    lines = imports_on_npu(node, file) if isinstance(node, (ast.Import, ast.ImportFrom)) else None
    if lines is None:
        return phrase("CUDA keeps its device library; choose the module by {helper}.type", helper=helper(file))
    return _imports(node, lines, file)


def _imports(node: ast.AST, new: list[str], file: PythonFile) -> list[Edit] | str | None:
    """Statements on an NPU, and an import as it stands elsewhere."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)) or (indent := indentation(node, file)) is None:
        return _ODD
    deeper = "\t" if "\t" in indent else "    "
    old = file.code(node).splitlines()
    lines = [f'if {helper(file)}.type == "npu":', *(deeper + line for line in new)]
    lines += ["else:", deeper + old[0], *(deeper + line.removeprefix(indent) for line in old[1:])]
    return [file.replace(node, (file.source.text.newline + indent).join(lines))]


def _text(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def amp(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``apex.amp`` stays for CUDA; on an NPU autocast and a GradScaler do what its opt level means."""
    from npuify.rules.precision.apex_amp import autocast_around
    from npuify.rules.precision.apex_amp_reading import AmpUse

    used = file.recall("apex.amp")
    if not isinstance(used, AmpUse):
        return _ODD
    root, scaler, optimizer = helper(file), used.scaler, used.optimizer
    edits: list[Edit | None] = [
        file.replace(call, choice(f"{used.model}.parameters()", call, file)) for call in used.master_params
    ]
    if used.level == "O0":
        edits += [branch([], used.initialization, file)]
        edits += [branch([f"{used.loss}.backward{used.arguments}"], used.backward, file)]
    else:
        for state in used.states:
            edits.append(file.replace(state.value, f'({scaler} if {root}.type == "npu" else {file.code(state.value)})'))
        backward = [f"{scaler}.scale({used.loss}).backward{used.arguments}"]
        if used.looks_at_gradients:
            backward.append(f"{scaler}.unscale_({optimizer})")
        edits += [
            branch([f"{scaler} = {root}.GradScaler()"], used.initialization, file),
            autocast_around(used.forward, f'{root}.autocast(enabled={root}.type == "npu")', file),
            branch(backward, used.backward, file),
            branch([f"{scaler}.step({optimizer})", f"{scaler}.update()"], used.step, file),
        ]
    found = [edit for edit in edits if edit is not None]
    return found if len(found) == len(edits) else "it shares lines with other code"


_PROFILER: Final = "torch.profiler"


def profiler(node: ast.AST, diagnostic: Diagnostic, file: PythonFile) -> list[Edit] | str | None:
    """``ProfilerActivity.CUDA`` → that of the device, of the profiler that records the device.

    torch_npu has a profiler of its own. What comes by ``from torch.profiler import …`` is imported from the one or the
    other; ``torch.profiler.profile`` is asked of the helper's ``library``.
    """
    root, edits = helper(file), []
    newline = file.source.text.newline
    for edit in diagnostic.edits:
        if edit.after == "NPU":
            chain = _activity_at(edit, file)
            if chain is None or in_formatted_string(chain, file):
                return _ODD
            owner = file.code(chain.value).replace(_PROFILER, f"{root}.library.profiler")
            edits.append(file.replace(chain, f"getattr({owner}, {root}.type.upper())"))
        elif edit.before == _PROFILER:
            if not any(other.start <= edit.start < other.end for other in _activity_spans(diagnostic, file)):
                edits.append(file.edit(edit.start, edit.end, f"{root}.library.profiler"))
        elif edit.before.startswith("from "):
            start = edit.start
            line = file.source.data.rfind(b"\n", 0, start) + 1
            indent = file.source.segment(line, start)
            statements = [one.strip() for one in edit.after.split(newline)]
            kept = [one for one in statements if "torch_npu" not in one]
            moved = [one for one in statements if "torch_npu" in one]
            lines = [*kept, f'if {root}.type == "npu":', *(f"    {one}" for one in moved), "else:"]
            lines += [f"    {one.replace('torch_npu.profiler', _PROFILER)}" for one in moved]
            edits.append(file.edit(edit.start, edit.end, (newline + indent).join(lines)))
        else:
            return _ODD
    return edits


def _activity_at(edit: Edit, file: PythonFile) -> ast.Attribute | None:
    """The ``….ProfilerActivity.CUDA`` whose last part an edit renames."""
    for node in file.nodes_on_lines_with("CUDA"):
        if isinstance(node, ast.Attribute) and file.source.attribute_span(node) == (edit.start, edit.end):
            return node
    return None


def _activity_spans(diagnostic: Diagnostic, file: PythonFile) -> list[Edit]:
    chains = [_activity_at(edit, file) for edit in diagnostic.edits if edit.after == "NPU"]
    return [file.replace(chain, "") for chain in chains if chain is not None]
