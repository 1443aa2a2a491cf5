"""The automatic style: ``transfer_to_npu`` replaces CUDA's names at run time, and code changes only where it does not.

What it reaches in a release, the release's table says, which was read from the package. ``FORMS`` decides rule by rule
whether an edit is needed all the same; rules that do not stand there keep their edits, since nothing is known to make
them unnecessary.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Severity
from npuify.styles.auto.comparisons import compared, is_get_backend
from npuify.styles.auto.devices import device_string, method_call
from npuify.styles.branches import has_own_way_without

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

    Node = ast.AST | tuple[int, int]
    Form = Callable[[Diagnostic, ast.AST, PythonFile], Diagnostic | None]


def restyle(diagnostic: Diagnostic, node: Node, file: PythonFile) -> Diagnostic | None:
    """The finding as the automatic style has it; None where ``transfer_to_npu`` does what is needed."""
    form = FORMS.get(diagnostic.code)
    styled: Diagnostic | None = diagnostic
    if form is not None and isinstance(node, ast.AST):
        styled = form(diagnostic, node, file)
    if styled is not None and styled.needs_torch_npu and file.plan.entries:
        # The entry points have loaded torch_npu; a file needs it by name only.
        styled = styled._replace(needs_torch_npu=any("torch_npu" in edit.after for edit in styled.edits))
    return styled


def _reached(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """Nothing to do for a name that the release's ``transfer_to_npu`` sets, or that is torch's own for all devices."""
    if not diagnostic.edits:
        return diagnostic
    counterpart = file.release.counterpart(diagnostic.subject)
    own = (
        counterpart is not None
        and (counterpart.npu or "").startswith("torch.")
        and ".npu" not in (counterpart.npu or "")
    )
    if diagnostic.subject == "torch.cuda.DoubleTensor" and diagnostic.subject in file.release.transfer_patches:
        message = "transfer_to_npu replaces torch.cuda.DoubleTensor with torch.npu.FloatTensor: 32 bits instead of 64"
        return diagnostic._replace(message=message, edits=(), severity=Severity.WARNING, needs_torch_npu=False)
    return None if own or file.release.transfer_reaches(diagnostic.subject) else diagnostic


def _from_import(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``from torch.cuda import Event`` takes what ``transfer_to_npu`` has set, if the program imported it before."""
    if not isinstance(node, ast.ImportFrom):
        return diagnostic
    for alias in node.names:
        name = f"{node.module}.{alias.name}"
        if alias.name == "*" or (name.startswith("torch.cuda") and not file.release.transfer_reaches(name)):
            counterpart = file.release.counterpart(name)
            if alias.name == "*" or (counterpart is not None and counterpart.npu is not None):
                return diagnostic
    return None


def _module_import(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    if isinstance(node, ast.alias) and node.asname is None:
        return None
    return _reached(diagnostic, node, file)


def _own_method(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """A class's own ``cuda`` is called as before, since calls of ``cuda`` stay."""
    return None


def _named_in_string(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``mock.patch("torch.cuda.device_count")`` patches what the program calls; ``hasattr`` asks what is there."""
    return None


def _backend(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``init_process_group("nccl")`` is replaced; what ``get_backend()`` says is "hccl"."""
    if not diagnostic.edits:
        return diagnostic
    found = compared(diagnostic, node, "hccl", file)
    if found is not None:
        return found
    return None if file.release.transfer_reaches("torch.distributed.init_process_group") else diagnostic


def _backend_member(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``Backend.NCCL`` is the string "nccl", which is replaced where a group is made, but never what is in use."""
    compare = file.parent(node)
    if isinstance(compare, ast.Compare):
        sides = [side for side in (compare.left, *compare.comparators) if side is not node]
        if any(is_get_backend(side, file) for side in sides):
            return diagnostic
    return None


def _nccl_class(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return None if file.release.transfer_reaches(diagnostic.subject) else diagnostic


def _state(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``torch.is_autocast_enabled()`` and the like, which newer releases replace."""
    return _reached(diagnostic, node, file)


def _scripted(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """``torch.jit.script`` is turned off: what it returns is the plain function or module."""
    if not file.release.transfer_reaches(diagnostic.subject):
        return diagnostic
    return diagnostic._replace(
        message=phrase(
            "transfer_to_npu turns {subject} off: it returns its argument, which has no save, graph or code",
            subject=diagnostic.subject,
        ),
        severity=Severity.WARNING,
        advice="use the unscripted version, or save torch.jit.script in a variable before transfer_to_npu is imported",
    )


def _checked_capability(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """The answer is None on an NPU under CUDA's name as well."""
    return diagnostic._replace(needs_torch_npu=False)


def _parameters(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return (
        diagnostic._replace(needs_torch_npu=False) if file.release.transfer_reaches(diagnostic.subject) else diagnostic
    )


def _message(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return diagnostic._replace(needs_torch_npu=False)


def _missing(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return None if file.release.transfer_reaches(diagnostic.subject) else diagnostic


def _profiler(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    return (
        None
        if diagnostic.edits and file.release.transfer_reaches("torch.profiler.ProfilerActivity.CUDA")
        else diagnostic
    )


def _attention(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> Diagnostic | None:
    """Nothing to do where the program goes on without the library by itself: the call is never reached on an NPU."""
    if diagnostic.edits and isinstance(node, ast.Call) and has_own_way_without(node.func, file):
        return None
    return diagnostic


FORMS: Final[dict[str, Form]] = {
    "NPU101": _reached,
    "NPU102": _missing,
    "NPU103": _parameters,
    "NPU105": _named_in_string,
    "NPU106": _from_import,
    "NPU107": _module_import,
    "NPU110": method_call,
    "NPU111": method_call,
    "NPU112": _own_method,
    "NPU115": _named_in_string,
    "NPU120": device_string,
    "NPU130": _checked_capability,
    "NPU131": _checked_capability,
    "NPU150": _message,
    "NPU160": _profiler,
    "NPU201": _state,
    "NPU301": _backend,
    "NPU302": _backend_member,
    "NPU303": _nccl_class,
    "NPU304": _nccl_class,
    "NPU401": _scripted,
    "NPU501": _attention,
    "NPU502": _attention,
    "NPU503": _attention,
}
KEPT: Final = frozenset(
    (
        "NPU100",
        "NPU109",
        "NPU113",
        "NPU114",
        "NPU116",
        "NPU117",
        "NPU119",
        "NPU122",
        "NPU123",
        "NPU129",
        "NPU134",
        "NPU135",
        "NPU136",
        "NPU137",
        "NPU138",
        "NPU141",
        "NPU202",
        "NPU512",
        "NPU660",
        "NPU661",
        "NPU662",
        "NPU663",
        "NPU664",
        "NPU665",
        "NPU669",
        "NPU670",
        "NPU671",
        "NPU672",
        "NPU673",
        "NPU680",
        "NPU681",
        "NPU666",
        "NPU667",
        "NPU668",
        "NPU714",
        "NPU210",
        "NPU211",
        "NPU212",
        "NPU213",
        "NPU215",
        "NPU313",
        "NPU321",
        "NPU322",
        "NPU324",
        "NPU326",
        "NPU327",
        "NPU427",
        "NPU505",
        "NPU621",
        "NPU622",
        "NPU644",
        "NPU645",
        "NPU646",
        "NPU631",
        "NPU650",
        "NPU701",
        "NPU751",
        *(
            "NPU643",
            "NPU821",
            "NPU900",
            "NPU901",
            "NPU902",
            "NPU904",
            "NPU906",
            "NPU907",
            "NPU908",
            "NPU909",
            "NPU910",
            "NPU912",
            "NPU913",
            "NPU915",
            "NPU916",
            "NPU917",
            "NPU918",
            "NPU921",
            "NPU922",
            "NPU923",
            "NPU924",
            "NPU925",
            "NPU926",
            "NPU927",
            "NPU929",
            "NPU930",
            "NPU936",
            "NPU937",
            "NPU938",
            "NPU945",
            "NPU946",
            "NPU947",
            "NPU948",
            "NPU955",
            "NPU956",
            "NPU970",
            "NPU972",
            "NPU974",
            "NPU976",
            "NPU978",
        ),
    )
)
"""Rules whose edits are needed under ``transfer_to_npu`` as well: it reaches nothing of what they are about."""
