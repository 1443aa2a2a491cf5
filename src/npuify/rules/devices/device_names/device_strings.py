"""Device strings: ``"cuda"``, ``"cuda:0"``, ``f"cuda:{rank}"``, where they reach a device."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.analysis.flow.device_names import DEVICE_NAME, FOREIGN_VARIABLE
from npuify.analysis.flow.devices import device_table_entry
from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.common.cuda_builds import opens_cuda_build
from npuify.rules.common.edits.renaming import replace_in_literal
from npuify.rules.common.lightning import asked_of_lightning
from npuify.rules.common.refusals import opens_refusal, refused_test
from npuify.rules.devices.device_names.handed_keys import hands_out_devices
from npuify.rules.devices.device_names.held import device_shape, is_held_against_devices, says_device
from npuify.rules.devices.device_names.option_help import help_edits, option_name, option_of_choice
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_TAKING_APART = frozenset(
    "startswith endswith find index count replace removeprefix split partition strip lstrip __eq__ __contains__".split()
)
"""Methods of a text whose argument is a part of it."""
_ASSERTED = frozenset(("assertEqual", "assertEquals", "assertNotEqual", "assertIn", "assertNotIn"))
"""Methods of test cases that compare their first two arguments."""
_IN_PARTS = re.compile(r"""(?:'[^'\\\n]*'|"[^"\\\n]*")(?:\s+(?:'[^'\\\n]*'|"[^"\\\n]*"))+""")
"""``"cu" "da"``, which is one string."""
_OPENING = re.compile(rb"[A-Za-z]{0,3}(?:\"\"\"|'''|\"|')(cuda)")


def _edit(node: ast.expr, file: PythonFile) -> Edit | None:
    start = file.source.start(node)
    match = _OPENING.match(file.source.data, start)
    if match:
        return file.edit(match.start(1), match.end(1), "npu")
    code = file.code(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _IN_PARTS.fullmatch(code):
        quote = code[0]
        return file.replace(node, f"{quote}{node.value.replace('cuda', 'npu', 1)}{quote}")
    return None


@rule("NPU120", "cuda-device-string", Safety.SAFE, words=("cuda", "'cu'", '"cu"', "'cud'", '"cud"'))
def cuda_device_string(node: ast.Constant | ast.JoinedStr, file: PythonFile) -> Iterator[Diagnostic]:
    """A device string names a CUDA device.

    It is edited where it is used as a device: an argument of a torch call, ``.to``, ``device=``, ``map_location``, a
    comparison with a device's type, the default or choices of an option that is used as a device, and where it is built
    with an f-string, ``%``, ``format`` or concatenation. It is never edited in paths, messages and keys. Where its use
    is unclear, the edit needs review.

    Before::

        import torch
        device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        print("running on cuda")
        x = torch.zeros(2, device="cuda")

    After::

        import torch
        import torch_npu  # noqa: F401
        device = torch.device("npu:0" if torch.npu.is_available() else "cpu")
        print("running on cuda")
        x = torch.zeros(2, device="npu")
    """
    shape = device_shape(node)
    if shape is None:
        return
    parent = file.parent(node)
    if isinstance(parent, (ast.Expr, ast.JoinedStr)) or asked_of_lightning(parent, file):
        return
    if isinstance(parent, ast.Compare) and opens_cuda_build(parent, file):
        return
    if isinstance(parent, ast.Compare) and _is_of_torch(parent, file) and opens_refusal(parent, file):
        yield refused_test(node, file, "cuda")
        return
    if device_table_entry(node, file.model) or _is_of_foreign_variable(node, parent) or _is_put_for_npu(node, parent):
        return
    if isinstance(parent, (ast.Subscript, ast.Call)) and holds_by_device(node, parent, file):
        edit = _edit(node, file)
        message = phrase("{text} is the key of what is kept by a device's type", text=file.code(node))
        yield file.report(node, message, edits=[edit] if edit else [], subject="cuda")
        return
    uses = file.uses(node)
    is_held = is_held_against_devices(node, file)
    in_stub = _is_default_in_stub(node, parent, file)
    is_key = isinstance(parent, ast.Dict) and node in parent.keys
    if uses.is_no_device and not in_stub and not is_held and (shape == "exact" or uses.told_here):
        # A card's number in a text that is only put together for people should be the right one, too.
        if not (is_key and isinstance(parent, ast.Dict) and is_looked_up(parent, file)):
            return
    if isinstance(parent, ast.Dict) and is_key and not uses.reaches_device:
        yield from _keyed_table(node, parent, file)
        return
    edit = _edit(node, file)
    text = file.code(node) if isinstance(node, ast.Constant) else phrase("this f-string")
    if edit is None:
        yield file.report(
            node,
            phrase("{text} names a CUDA device, but cannot be edited in place", text=text),
            subject="cuda",
            advice="write the NPU's name here",
        )
    elif uses.reaches_device or in_stub or shape == "indexed" or is_held or _meets_device(node, file):
        option = option_of_choice(node, file) if file.plan.style == "npu" else None
        named = option_name(option) if option is not None else ""
        yield file.report(
            node,
            phrase("{text} names a CUDA device", text=text),
            edits=[edit, *(help_edits(option, file) if option is not None else ())],
            subject="cuda",
            advice=phrase("afterwards {option} cuda is refused: scripts must give {option} npu", option=named)
            if named
            else "",
            needs_torch_npu=_is_used_here(node, file),
        )
    else:
        yield file.report(
            node,
            phrase("{text} may name a CUDA device; its use cannot be determined here", text=text),
            edits=[edit],
            safety=Safety.REVIEW,
            severity=Severity.WARNING,
            subject="cuda",
            advice='change it to "npu" if it is used as a device',
            needs_torch_npu=_is_used_here(node, file),
        )


def _is_default_in_stub(node: ast.expr, parent: ast.AST | None, file: PythonFile) -> bool:
    """Whether a string is what a stub file gives as the default of a device; no body there tells more than the name."""
    if not file.source.relative.endswith(".pyi") or not isinstance(parent, ast.arguments):
        return False
    positional = [*parent.posonlyargs, *parent.args]
    given = zip(positional[::-1], parent.defaults[::-1], strict=False)
    named = (
        one.arg
        for one, default in (*given, *zip(parent.kwonlyargs, parent.kw_defaults, strict=True))
        if default is node
    )
    return any(DEVICE_NAME.search(name) for name in named)


def _is_of_foreign_variable(node: ast.expr, parent: ast.AST | None) -> bool:
    """``os.environ["JAX_PLATFORMS"] = "cuda"``: what another library than torch reads."""
    key: ast.expr | None = None
    if isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Subscript):
        key = parent.targets[0].slice
    elif isinstance(parent, ast.Call) and len(parent.args) == 2 and parent.args[1] is node:
        key = parent.args[0]
    return isinstance(key, ast.Constant) and FOREIGN_VARIABLE.fullmatch(str(key.value)) is not None


def _is_put_for_npu(node: ast.expr, parent: ast.AST | None) -> bool:
    """``kind.replace("npu", "cuda")``: who writes that means CUDA's word."""
    if not isinstance(parent, ast.Call) or getattr(parent.func, "attr", "") != "replace" or len(parent.args) != 2:
        return False
    first = parent.args[0]
    return parent.args[1] is node and isinstance(first, ast.Constant) and first.value == "npu"


def _meets_device(node: ast.expr, file: PythonFile) -> bool:
    """Whether a string is compared with what is surely a device's type, wherever in the program that comes from."""
    parent = file.parent(node)
    if isinstance(parent, ast.MatchValue):
        match = next((up for up in file.ancestors(parent) if isinstance(up, ast.Match)), None)
        return match is not None and says_device(match.subject, file)
    if isinstance(parent, ast.Compare):
        return any(says_device(side, file) for side in (parent.left, *parent.comparators) if side is not node)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and node in parent.args:
        if parent.func.attr in _ASSERTED:
            return any(says_device(side, file) for side in parent.args[:2] if side is not node)
        return parent.func.attr in _TAKING_APART and says_device(parent.func.value, file)
    return False


def holds_by_device(key: ast.expr, asked: ast.Subscript | ast.Call, file: PythonFile) -> bool:
    """Whether a container is also asked, or filled, by a device's type: ``counts[x.device.type] += 1``."""
    if isinstance(asked, ast.Subscript):
        holder: ast.expr | None = asked.value
    else:
        is_get = isinstance(asked.func, ast.Attribute) and asked.func.attr in ("get", "pop") and asked.args[:1] == [key]
        holder = asked.func.value if is_get and isinstance(asked.func, ast.Attribute) else None
    if not isinstance(holder, ast.Name):
        return False
    for made in file.assigned(holder):
        keys = [made.key] if isinstance(made, ast.DictComp) and not _is_grouped(made, file) else []
        if isinstance(made, ast.DictComp) and _is_grouped(made, file):
            return True
        if isinstance(made, ast.Call) and _word(made.func) == "Counter" and made.args:
            inner = made.args[0]
            keys += [inner.elt] if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) else []
        if any(is_type_of_torch(key, file) for key in keys):
            return True
    if any(isinstance(made, ast.Dict) and made.keys for made in file.assigned(holder)):
        return any(is_looked_up(made, file) for made in file.assigned(holder) if isinstance(made, ast.Dict))
    parents = (file.model.parent(one) for one in file.model.references(holder.id))
    return any(
        isinstance(one, ast.Subscript) and one.slice is not key and is_type_of_torch(one.slice, file) for one in parents
    )


def _is_grouped(made: ast.DictComp, file: PythonFile) -> bool:
    """``{kind: list(items) for kind, items in groupby(tensors, key=lambda t: t.device.type)}``."""
    calls = [
        one.iter for one in made.generators if isinstance(one.iter, ast.Call) and _word(one.iter.func) == "groupby"
    ]
    given = [word.value for call in calls for word in call.keywords if word.arg == "key"]
    given += [call.args[1] for call in calls if len(call.args) > 1]
    return any(isinstance(one, ast.Lambda) and is_type_of_torch(one.body, file) for one in given)


def is_type_of_torch(node: ast.expr, file: PythonFile) -> bool:
    """Whether an expression is the type of a tensor's device, also of a tensor that nothing else is known of."""
    if isinstance(node, ast.Attribute) and node.attr == "type" and getattr(node.value, "attr", "") == "device":
        return True
    return not isinstance(node, ast.Constant) and says_device(node, file)


def _word(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_looked_up(table: ast.Dict, file: PythonFile) -> bool:
    """Whether a table is looked up with a device's type, which another file may hand to the function that does it.

    Or it is gone through, and its keys are devices then.
    """
    if file.looked_up_by_device(table) or hands_out_devices(table, file):
        return True
    here = [one.node for one in file.reaching(Reach.FILE).flow(table, file.model).occurrences if one.file is file.model]
    keys = []
    for node in here:
        parent = file.parent(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            keys.append(parent.slice)
        call = file.parent(parent) if isinstance(parent, ast.Attribute) and parent.attr == "get" else None
        if isinstance(call, ast.Call) and call.args:
            keys.append(call.args[0])
    return bool(keys) and all(says_device(key, file) for key in keys)


def _is_of_torch(compare: ast.Compare, file: PythonFile) -> bool:
    """Whether a comparison is with what torch says of a device: options of the program change at all their ends."""
    return any(
        (isinstance(side, ast.Attribute) and side.attr == "type")
        or any(value.kind is Kind.DEVICE_STRING and not value.name for value in file.values(side))
        for side in (compare.left, *compare.comparators)
    )


def _is_used_here(node: ast.expr, file: PythonFile) -> bool:
    """Whether the string may reach torch in this very file, so that torch_npu has to be there."""
    for up in file.ancestors(node):
        if isinstance(up, (ast.Compare, ast.arguments)):
            return False
        if isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and up.func.attr == "add_argument":
            return False
        if isinstance(up, ast.stmt):
            break
    return True


def _keyed_table(node: ast.expr, table: ast.Dict, file: PythonFile) -> Iterator[Diagnostic]:
    """A dict whose keys are device types: its entry for cuda becomes one for npu, key and value together."""
    if "npu" in [key.value for key in table.keys if isinstance(key, ast.Constant)]:
        return
    by_device = is_looked_up(table, file)
    edit = _edit(node, file)
    edits = [edit] if edit else []
    value = table.values[table.keys.index(node)]
    for item in ast.walk(value):
        if isinstance(item, ast.Constant) and item.value in ("cuda", "nccl"):
            new = "npu" if item.value == "cuda" else "hccl"
            inner = replace_in_literal(item, str(item.value), new, file)
            edits += [inner] if inner else []
    yield file.report(
        node,
        "a table keyed by device type has an entry for cuda and none for npu",
        edits=edits,
        safety=Safety.SAFE if by_device else Safety.REVIEW,
        severity=Severity.ERROR if by_device else Severity.WARNING,
        subject="cuda",
        advice="" if by_device else "change the entry, or add one for npu, if the table is indexed by device type",
    )


@rule(
    "NPU121",
    "checkpoint-saved-on-cuda",
    Safety.MANUAL,
    Severity.INFO,
    words=("map_location={", "map_location = {"),
    source="torch.serialization: storages are tagged with the device they were saved on",
)
def checkpoint_saved_on_cuda(node: ast.keyword, file: PythonFile) -> Iterator[Diagnostic]:
    """A ``map_location`` table maps device tags, and checkpoints saved on CUDA carry CUDA tags."""
    if node.arg != "map_location":
        return
    if file.tables(node.value):
        yield file.report(
            node.value,
            "this table maps the tags of checkpoints saved on NPUs; those saved on CUDA carry other tags",
            subject="torch.load",
            advice="load checkpoints saved on CUDA with map_location='cpu'",
        )
