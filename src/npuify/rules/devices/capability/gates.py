"""Gates on CUDA's compute capability, device properties and version, which mean nothing on an NPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from npuify.analysis.values import Kind
from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.common.refusals import UNKNOWN, check_around, may_refuse, value_of
from npuify.rules.devices.capability.checks import Gate, gates
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_BY_HELPER = "api.get_device_capability"
"""How the helper of the portable style has it."""
_OLDEST, _NEWEST = (0, 0), (9, 0)
_ADVICE = "query the feature itself (torch.npu.is_bf16_supported()), or choose the NPU's branch by hand"


@rule(
    "NPU130",
    "capability-gate",
    Safety.SAFE,
    Severity.ERROR,
    words=("get_device_capability",),
)
def capability_gate(node: ast.Call | ast.Attribute | ast.Name, file: PythonFile) -> Iterator[Diagnostic]:
    """``get_device_capability()`` is None on an NPU, so comparing or unpacking it fails.

    ``or (0, 0)`` is appended, so that the program takes its branch for the oldest GPUs, which requires the least of the
    device. The finding says what each check then chooses. Setting ``TORCH_NPU_DEVICE_CAPABILITY`` still works.

    Before::

        import torch
        major, minor = torch.cuda.get_device_capability()
        fast = torch.cuda.get_device_capability()[0] >= 8

    After::

        import torch
        import torch_npu  # noqa: F401
        major, minor = torch.npu.get_device_capability() or (0, 0)
        fast = (torch.npu.get_device_capability() or (0, 0))[0] >= 8
    """
    parent = file.parent(node)
    if _is_handed_on(node, parent, file):
        yield file.report(
            node,
            "get_device_capability() is None on the NPU, also where this function is called by another name",
            severity=Severity.WARNING,
            subject="torch.cuda.get_device_capability",
            advice=_ADVICE,
        )
        return
    if not isinstance(node, ast.Call) or not _asks_capability(node.func, file):
        return
    if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or):
        used = _literal(parent.values[-1])
        chosen = _check_value(parent, used, file) if used is not None else None
        tail = phrase("; this check is {chosen}", chosen=chosen) if chosen is not None else ""
        goes_on = used is not None and not any(check.with_oldest for check in gates(parent, (used, used), file)[0])
        yield file.report(
            node,
            phrase(
                "get_device_capability() is None on the NPU, so {values} is used here{tail}",
                values=file.code(parent.values[-1]),
                tail=tail,
            ),
            # A branch for older GPUs is worth knowing; a check that refuses to go on may stop the program.
            severity=Severity.INFO if goes_on else Severity.WARNING,
            subject="torch.cuda.get_device_capability",
            advice=_ADVICE,
        )
        return
    if isinstance(parent, ast.Expr):
        return
    made_text = isinstance(parent, ast.FormattedValue) or (
        isinstance(parent, ast.Call) and parent.func is not node and _word(parent.func) in _TEXTS
    )
    if made_text:
        shown = _is_shown(node, file)
        yield file.report(
            node,
            "get_device_capability() is None on the NPU, and this text then says None",
            # What only people read does no harm; a text may be the name of something as well.
            severity=Severity.INFO if shown else Severity.WARNING,
            subject="torch.cuda.get_device_capability",
            advice="" if shown else _ADVICE,
        )
        return
    yield _with_capability(node, file)


def _is_shown(node: ast.expr, file: PythonFile) -> bool:
    """Whether what is made of a value goes to people at once: it is printed, logged, or says what an error was."""
    for up in file.ancestors(node):
        if isinstance(up, ast.stmt):
            return isinstance(up, ast.Raise)
        if isinstance(up, ast.Call) and _word(up.func) in _PRINTS:
            return True
    return False


_CAPABILITY = frozenset(f"{module}.get_device_capability" for module in ("torch.cuda", "torch.npu", "torch_npu.npu"))


def _is_handed_on(node: ast.expr, parent: ast.AST | None, file: PythonFile) -> bool:
    """Whether a place hands the function itself on, to where its calls are not told by their text."""
    if file.qualname(node) not in _CAPABILITY or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(parent, (ast.Assign, ast.AnnAssign)):
        # What a name or an attribute stands for is known where it is called.
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return not all(isinstance(target, (ast.Name, ast.Attribute)) for target in targets)
    if isinstance(parent, ast.Call):
        return parent.func is not node
    return not isinstance(parent, (ast.Attribute, ast.NamedExpr, ast.Expr, ast.Compare, ast.If, ast.FormattedValue))


def _asks_capability(node: ast.expr, file: PythonFile) -> bool:
    """Whether a function may be torch's, also where an attribute or a parameter stands for the module."""
    name = file.qualname(node)
    if name is not None:
        # What the portable style wrote asks the same.
        return name in _CAPABILITY or file.plan.of_helper(name) == _BY_HELPER
    if not isinstance(node, (ast.Attribute, ast.Name)):
        return False
    return any(value.kind is Kind.TORCH_NAME and value.name in _CAPABILITY for value in file.values(node))


def _with_capability(node: ast.Call, file: PythonFile) -> Diagnostic:
    """The finding about a call whose result is compared, unpacked or kept."""
    parent = file.parent(node)
    checks, chooses = gates(node, (_OLDEST, _NEWEST), file)
    refusing = [check for check in checks if check.with_oldest]
    chooses = chooses or len(refusing) < len(checks)
    if refusing and (chooses or any(check.with_newest for check in checks)):
        return file.report(
            node,
            phrase(
                "get_device_capability() is None on the NPU, and with (0, 0) the check in {where} fails",
                where=refusing[0].where,
            ),
            subject="torch.cuda.get_device_capability",
            advice=phrase("decide here what the NPU may do: {how}", how=_ADVICE),
            needs_torch_npu=True,
        )
    used = _NEWEST if refusing else _OLDEST
    chosen = _check_value(node, used, file)
    tail = phrase("; this check is then {chosen}", chosen=chosen) if chosen is not None else ""
    bare = isinstance(parent, (ast.Assign, ast.Return, ast.NamedExpr, ast.keyword))
    end = file.source.end(node)
    if bare:
        edits = [file.edit(end, end, f" or {used}")]
    else:
        start = file.source.start(node)
        edits = [file.edit(start, start, "("), file.edit(end, end, f" or {used})")]
    why = "passes the check that refuses old GPUs" if refusing else "keeps the program running"
    return file.report(
        node,
        phrase("get_device_capability() is None on the NPU; {used} {why}{tail}", used=used, why=why, tail=tail),
        edits=edits if file.source.data[end - 1 : end] == b")" else (),
        subject="torch.cuda.get_device_capability",
        advice=_ADVICE,
        needs_torch_npu=True,
    )


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


def _compare_around(node: ast.AST, file: PythonFile) -> ast.Compare | None:
    found = next((up for up in file.ancestors(node) if isinstance(up, (ast.Compare, ast.stmt))), None)
    return found if isinstance(found, ast.Compare) else None


def _check_value(node: ast.expr, used: Any, file: PythonFile) -> bool | None:
    """What the comparison around a call gives when the capability is ``used``; None where it cannot be told."""
    compare = _compare_around(node, file)
    if compare is None:
        return None
    value = value_of(compare, lambda one: used if one is node else UNKNOWN)
    return None if value is UNKNOWN else bool(value)


_PRINTS = frozenset("print info debug warning error log write".split())
_TEXTS = _PRINTS | frozenset("str repr format".split())
_PROPERTY_DEFAULTS = {"major": "0", "minor": "0", "multi_processor_count": "1", "warp_size": "32", "is_integrated": "0"}


@rule("NPU131", "device-property", Safety.SAFE, Severity.ERROR, words=("get_device_properties",))
def device_property(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``get_device_properties()`` of an NPU lacks ``major``, ``minor`` and other CUDA properties, or has None for them.

    Which of the two depends on the release. With 0 instead, the program takes its branch for the oldest GPUs.

    Before::

        import torch
        old = torch.cuda.get_device_properties(0).major < 7

    After::

        import torch
        import torch_npu  # noqa: F401
        old = (getattr(torch.npu.get_device_properties(0), "major", None) or 0) < 7
    """
    if (
        node.attr not in _PROPERTY_DEFAULTS
        or not isinstance(node.ctx, ast.Load)
        or not _is_properties(node.value, file)
    ):
        return
    row = file.release.meaning(f"torch._C._CudaDeviceProperties.{node.attr}")
    if row is not None and row.effect == "different":
        yield file.report(
            node, row.message, severity=row.severity, evidence=row.evidence, source=row.source, subject=row.cuda
        )
        return
    start, end = file.source.start(node), file.source.end(node)
    span = file.source.attribute_span(node)
    value_end = file.source.end(node.value)
    edits = []
    safety = Safety.SAFE if node.attr in ("major", "minor") else Safety.REVIEW
    checks, chooses = _property_checks(node, file)
    refusing = [check for check in checks if check.with_oldest]
    chooses = chooses or len(refusing) < len(checks)
    if refusing and (chooses or any(check.with_newest for check in refusing)):
        yield file.report(
            node,
            phrase(
                "an NPU's properties lack {attr}, or have None for it; with 0 the check in {where} fails",
                attr=node.attr,
                where=refusing[0].where,
            ),
            subject="torch.cuda.get_device_properties",
            advice=phrase("decide here what the NPU may do: {how}", how=_ADVICE),
        )
        return
    default = dict(zip(_NUMBERS, _NEWEST, strict=True)).get(node.attr) if refusing else None
    if span is not None and file.source.segment(value_end, span[1]) == f".{node.attr}":
        edits = [
            file.edit(start, start, "(getattr("),
            file.edit(
                value_end,
                end,
                f', "{node.attr}", None) or {default or _PROPERTY_DEFAULTS[node.attr]})',
            ),
        ]
    yield file.report(
        node,
        phrase(
            "an NPU's properties lack {attr}, or have None for it; 9 passes the check that refuses old GPUs",
            attr=node.attr,
        )
        if default
        else phrase("an NPU's properties lack {attr}, or have None for it", attr=node.attr),
        edits=edits,
        safety=safety,
        subject="torch.cuda.get_device_properties",
        advice=_ADVICE,
    )


_NUMBERS = ("major", "minor")


def _property_checks(node: ast.Attribute, file: PythonFile) -> tuple[list[Gate], bool]:
    """The checks that a property decides; and whether it is compared elsewhere, to choose something."""
    if node.attr not in _NUMBERS:
        return [], False
    direct = check_around(node, file)
    if direct is not None:
        refuses = [may_refuse(direct, _properties(one, file), file) for one in (_OLDEST, _NEWEST)]
        return [Gate(phrase("line {line}", line=direct.lineno), *refuses)], False
    index = _NUMBERS.index(node.attr)
    return gates(node, (_OLDEST[index], _NEWEST[index]), file)


def _properties(capability: tuple[int, int], file: PythonFile) -> Callable[[ast.expr], Any]:
    """What is known in a check where ``major`` and ``minor`` have these values."""

    def known(node: ast.expr) -> Any:
        made = file.assigned(node) if isinstance(node, ast.Name) else [node]
        one = made[0] if len(made) == 1 else None
        if isinstance(one, ast.Attribute) and one.attr in _NUMBERS and _is_properties(one.value, file):
            return capability[_NUMBERS.index(one.attr)]
        return UNKNOWN

    return known


def _is_properties(node: ast.expr, file: PythonFile) -> bool:
    made = file.values(node).of_kind(Kind.TORCH_OBJECT)
    return any(value.name.endswith(".get_device_properties") for value in made)


@rule("NPU133", "device-property-unknown", Safety.MANUAL, Severity.WARNING, words=("get_device_properties",))
def device_property_unknown(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``getattr(properties, "major", None) or 0`` is 0 on an NPU: the program takes its branch for the oldest GPUs."""
    if not isinstance(node.func, ast.Name) or node.func.id != "getattr" or len(node.args) != 3:
        return
    word = node.args[1]
    if isinstance(word, ast.Constant) and word.value in ("major", "minor") and _is_properties(node.args[0], file):
        yield file.report(
            node,
            phrase("an NPU's properties have no {value}, so the default is used here", value=word.value),
            subject="torch.cuda.get_device_properties",
            advice=_ADVICE,
        )


def _word(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
