"""From what a rule says to a finding, as the style of the run has it.

A rule knows one spelling, that of the NPU. Here its edits are kept, written in another way, or taken away with a
reason, or there is nothing to report at all.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.analysis.flow.devices import device_table_entry
from npuify.language import phrase
from npuify.model import Edit, Finding, Position, Safety, Severity
from npuify.rules.common.defaults.conditions import only_with
from npuify.rules.common.device_options import is_device_default
from npuify.rules.common.helper_branches import only_on_npu
from npuify.rules.common.npu_support import prepared_for_npu
from npuify.rules.devices.device_names.handed_keys import hands_out_devices
from npuify.styles import restyle

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic
    from npuify.rules.registry import Rule

_STRING_OPENING = re.compile(rb"[A-Za-z]{0,3}(\"\"\"|'''|\"|')")
_SAFETY_ORDER = {Safety.SAFE: 0, Safety.REVIEW: 1, Safety.MANUAL: 2}


def finish(said: Diagnostic, rule: Rule, file: PythonFile) -> Finding | None:
    """The finding that a rule's diagnostic becomes; None where there is nothing to say in the style of the run."""
    diagnostic = said._replace(code=rule.code, severity=said.severity or rule.severity)
    place = diagnostic.place
    node = place if isinstance(place, ast.AST) else None
    is_chosen = bool(node is not None and file.plan.device_default and is_device_default(node, file))
    if diagnostic.edits and node is not None and not is_chosen:
        if prepared_for_npu(node, file) and not _is_half_written(node, file):
            if _as_style_writes(diagnostic, node, file):
                return None
            diagnostic = _left_to_the_project(diagnostic)
        else:
            diagnostic = diagnostic._replace(edits=_with_fitting_quotes(node, diagnostic.edits, file))
            if diagnostic.safety is not Safety.REVIEW and _value_of_unread_table(node, file):
                diagnostic = diagnostic._replace(safety=Safety.REVIEW)
    if diagnostic.edits and not is_chosen and file.project.handles_npu(file.source.relative):
        diagnostic = diagnostic._replace(safety=Safety.REVIEW)
    styled = restyle(diagnostic, file)
    return _finding(styled, rule, file) if styled is not None else None


def _condition(diagnostic: Diagnostic, severity: Severity, safety: Safety, file: PythonFile) -> str:
    """What must be asked for before a place runs that a person has to look at.

    Args:
        diagnostic: what a rule says.
        severity: how grave it is.
        safety: of its edits, as the rule and the style have it.
        file: the file it is about.
    """
    is_done = diagnostic.edits and safety is not Safety.REVIEW
    if severity is Severity.INFO or is_done or not isinstance(diagnostic.place, ast.AST):
        return ""
    return only_with(diagnostic.place, file) or diagnostic.only_with


def _finding(diagnostic: Diagnostic, rule: Rule, file: PythonFile) -> Finding:
    place, source = diagnostic.place, file.source
    start, end = place if isinstance(place, tuple) else (source.start(place), source.end(place))
    safety = Safety.MANUAL
    if diagnostic.edits:
        safety = max(diagnostic.safety or rule.safety, rule.safety, key=_SAFETY_ORDER.__getitem__)
    severity = diagnostic.severity or rule.severity
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=severity,
        safety=safety,
        file=source.relative,
        start=Position(*source.text.position(start)),
        end=Position(*source.text.position(end)),
        message=phrase(diagnostic.message),
        evidence=diagnostic.evidence or rule.evidence,
        source=rule.source if diagnostic.source is None else diagnostic.source,
        subject=diagnostic.subject,
        advice=phrase(diagnostic.advice),
        edits=tuple(sorted(diagnostic.edits)),
        needs_torch_npu=diagnostic.needs_torch_npu,
        only_with=_condition(diagnostic, severity, safety, file),
    )


def _left_to_the_project(diagnostic: Diagnostic) -> Diagnostic:
    return diagnostic._replace(
        message=phrase(
            "{message}; left unchanged, since the code around it already handles the NPU", message=diagnostic.message
        ),
        edits=(),
        severity=Severity.INFO,
        advice="check that the project's own NPU support is complete here",
        needs_torch_npu=False,
    )


def _value_of_unread_table(node: ast.AST, file: PythonFile) -> bool:
    """Whether a node stands in an entry of a device table that nothing is seen to look up by a device.

    An entry changes as a whole, so its value is as safe as its key.
    """
    entry = device_table_entry(node, file.model)
    return entry is not None and not (file.looked_up_by_device(entry[1]) or hands_out_devices(entry[1], file))


def _with_fitting_quotes(node: ast.AST, edits: tuple[Edit, ...], file: PythonFile) -> tuple[Edit, ...]:
    """Edits whose quotes are not those of the f-string around them, which Python before 3.12 could not read."""
    outer = next((up for up in (node, *file.ancestors(node)) if isinstance(up, ast.JoinedStr)), None)
    opening = _STRING_OPENING.match(file.source.data, file.source.start(outer)) if outer is not None else None
    if outer is node or opening is None or len(opening.group(1)) == 3:
        return edits
    quote = opening.group(1).decode()
    other = "'" if quote == '"' else '"'
    return tuple(
        Edit(edit.start, edit.end, edit.before, edit.after.replace(quote, other)) if quote in edit.after else edit
        for edit in edits
    )


def _is_half_written(node: ast.AST, file: PythonFile) -> bool:
    """Whether code for the NPU was put beside that for CUDA in this run, and is to be migrated itself."""
    return file.plan.style == "portable" and only_on_npu(node, file)


def _as_style_writes(diagnostic: Diagnostic, node: ast.AST, file: PythonFile) -> bool:
    """Whether code that names both devices is as the project's style writes it, so that nothing is left to say."""
    plan = file.plan
    if plan.style == "portable":
        if diagnostic.code == "NPU701":
            # Both variables are set, one statement after the other.
            return any(edit.after.strip("\"'").encode() in file.source.data for edit in diagnostic.edits)
        statement = next((up for up in (node, *file.ancestors(node)) if isinstance(up, ast.stmt)), node)
        return f"{plan.helper}." in file.code(statement)
    if plan.style == "auto":
        both = isinstance(file.parent(node), (ast.Tuple, ast.List, ast.Set))
        return both or restyle(diagnostic, file) is None
    return False
