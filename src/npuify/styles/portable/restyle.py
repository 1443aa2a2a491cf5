"""The portable style: what each rule's edit becomes where one code base is to run on CUDA, NPU and CPU.

``FORMS`` writes an edit in the portable way, ``SAME`` names rules whose edits hold on every device, and ``REFUSED``
says why an edit has no portable form. A rule that stands in none of them is refused in general words, so that a new
rule never writes code for the NPU alone into a portable project.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.rules.common.helper_branches import never_on_npu
from npuify.styles.branches import edited
from npuify.styles.portable import calls, imports, library_branches, names, strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

    Form = Callable[[ast.AST, Diagnostic, PythonFile], list[Edit] | str | None]
    """Gives the portable edits, the reason why there are none, or None where the code can stay as it is."""

FORMS: Final[dict[str, Form]] = {
    "NPU101": names.name,
    "NPU103": calls.parameters,
    "NPU105": strings.attribute_name,
    "NPU106": imports.from_import,
    "NPU107": imports.plain_import,
    "NPU110": calls.cuda_method,
    "NPU111": calls.is_cuda,
    "NPU113": strings.dotted_name,
    "NPU115": strings.dotted_name,
    "NPU116": strings.onnx_provider,
    "NPU120": strings.device,
    "NPU134": calls.nccl_version,
    "NPU135": calls.default_device,
    "NPU150": strings.out_of_memory,
    "NPU160": library_branches.profiler,
    "NPU201": calls.autocast_state,
    "NPU202": calls.default_device,
    "NPU210": library_branches.amp,
    "NPU211": library_branches.apex,
    "NPU212": library_branches.apex,
    "NPU213": library_branches.apex,
    "NPU301": strings.backend,
    "NPU302": calls.backend_member,
    "NPU303": calls.is_nccl_available,
    "NPU326": strings.beside_other,
    "NPU501": library_branches.attention,
    "NPU502": library_branches.attention,
    "NPU503": library_branches.attention,
    "NPU622": library_branches.package_import,
    "NPU645": library_branches.device_library,
    "NPU701": strings.environment_variable,
}
SAME: Final = frozenset(
    (
        "NPU109 NPU118 NPU125 NPU126 NPU127 NPU129 NPU130 NPU131 NPU136 NPU138 NPU141 NPU215 NPU313 NPU327 "
        "NPU427 NPU505 NPU512 NPU621 NPU631 NPU643 NPU644 NPU646 NPU650 NPU660 NPU661 NPU662 NPU663 NPU664 "
        "NPU665 NPU666 NPU667 NPU668 NPU669 NPU670 NPU671 NPU672 NPU673 NPU680 NPU681 NPU714 NPU751 "
        "NPU821 NPU930 NPU937 NPU938 NPU974"
    ).split()
)
"""Rules whose edits are right whatever the device is (646 has none here); 643, 650 and 751 are made only where the user
asks for them, and give CUDA the same numbers by another way."""
_TENSORFLOW: Final = "npu_bridge and npu_device are only where the adapter is; keep a copy of the program for the NPU"
_OTHER_LIBRARY: Final = "the value is for the NPU only; choose it where the program starts"
_PACKAGE: Final = "CUDA machines need it unchanged; put the NPU's packages in a separate file"
REFUSED: Final[dict[str, str]] = {
    "NPU100": "the helper module imports torch_npu where it is available",
    "NPU114": "the handle belongs to one runtime; the code that receives it needs a branch for each",
    "NPU117": "CUDA keeps its kernel; register another for PrivateUse1",
    "NPU137": "only an NPU has it",
    "NPU321": "Ray counts GPUs and NPUs as separate resources; choose the argument at program start",
    "NPU322": "the adaptor patches torch.cuda; import it only where torch_npu is found",
    "NPU324": "the value is for the NPU only; choose it by {helper}.type",
    "NPU601": _PACKAGE,
    "NPU602": _PACKAGE,
    "NPU603": _PACKAGE,
    "NPU604": _PACKAGE,
    "NPU605": _PACKAGE,
    "NPU607": _PACKAGE,
    "NPU610": _PACKAGE,
    **dict.fromkeys(
        (
            "NPU900 NPU901 NPU902 NPU904 NPU906 NPU907 NPU908 NPU909 NPU910 NPU912 NPU913 NPU915 NPU916 NPU917 NPU918 "
            "NPU921 NPU922 NPU923 NPU924 NPU925 NPU926 NPU927 NPU929"
        ).split(),
        _TENSORFLOW,
    ),
    **dict.fromkeys(
        ("NPU936", "NPU945", "NPU955", "NPU946", "NPU947", "NPU948", "NPU956", "NPU970", "NPU972", "NPU976", "NPU978"),
        _OTHER_LIBRARY,
    ),
}
_NO_FORM: Final = 'its NPU counterpart would break CUDA; put it under `if {helper}.type == "npu":`'


def reason(code: str, helper: str) -> str:
    """Why edits of a rule are not made in the portable style."""
    return phrase(REFUSED.get(code, _NO_FORM), helper=helper)


def restyle(diagnostic: Diagnostic, node: ast.AST | tuple[int, int], file: PythonFile) -> Diagnostic | None:
    """The finding as the portable style has it; None where the code can stay as it is."""
    if isinstance(node, ast.AST) and never_on_npu(node, file):
        return None
    if not diagnostic.edits:
        return diagnostic
    if diagnostic.code in SAME and not any(edit.after.startswith("torch_npu.") for edit in diagnostic.edits):
        return diagnostic._replace(needs_torch_npu=False)
    form = FORMS.get(diagnostic.code)
    if form is None or not isinstance(node, ast.AST):
        return _refused(diagnostic, node, reason(diagnostic.code, file.plan.helper), file)
    found = form(node, diagnostic, file)
    if found is None:
        return None
    if isinstance(found, str):
        return _refused(diagnostic, node, found, file)
    if _is_settings(file) and any(f"{file.plan.helper}." in edit.after for edit in found):
        return _refused(diagnostic, node, _SETTINGS, file)
    return diagnostic._replace(edits=tuple(found), needs_torch_npu=False)


_OF_SETTINGS: Final = ("_base_", "config", "configs", "local_configs")
_SETTINGS: Final = (
    "a library reads this file as settings, and it cannot import anything; set the value where the program starts"
)


def _is_settings(file: PythonFile) -> bool:
    """Whether a file holds settings in Python's syntax, as mmcv's do: in a folder of them, nothing but assignments.

    mmcv copies such a file to a folder of its own and imports it there, where the helper is not found; and a module
    that the file imported would become one of its settings.
    """
    known = file.recall("portable.settings")
    if known is None:
        folders = file.source.relative.lower().split("/")[:-1]
        known = any(part in _OF_SETTINGS for part in folders) and _only_assigns(file)
        file.remember("portable.settings", known)
    return bool(known)


def _only_assigns(file: PythonFile) -> bool:
    try:
        # The rules' own tree may lack the parts of a file in which none of them looks.
        body = ast.parse(file.source.data).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return all(isinstance(item, (ast.Assign, ast.AnnAssign, ast.Expr)) for item in body)


def _refused(diagnostic: Diagnostic, node: ast.AST | tuple[int, int], why: str, file: PythonFile) -> Diagnostic:
    """The finding without edits, with the statement that an NPU needs in its place."""
    refused = diagnostic.refused(why)
    if not isinstance(node, ast.AST):
        return refused
    statement = next((up for up in (node, *file.ancestors(node)) if isinstance(up, ast.stmt)), None)
    if statement is None or isinstance(statement, _COMPOUND):
        return refused
    start, end = file.source.start(statement), file.source.end(statement)
    if not all(start <= edit.start and edit.end <= end for edit in diagnostic.edits):
        return refused
    text = edited(statement, diagnostic.edits, file)
    if not text.strip() or len(text) > _LONGEST or "\n" in text:
        return refused
    said = phrase("on an NPU write: {text}", text=text)
    return refused._replace(advice=f"{refused.advice}; {said}" if refused.advice else said)


_COMPOUND: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)
_LONGEST: Final = 160
