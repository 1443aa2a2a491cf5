"""Whatever rules and tables write into programs: each statement must be taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.engine.catalog import all_rules
from npuify.knowledge.forms import forms_files
from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.areas.form_rows import rows
from npuify.selftest.areas.written import written
from npuify.selftest.checks import Check, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable
    from npuify.selftest.areas.form import Form

_QUICK = ("NPU1", "NPU2", "NPU3", "counterparts/torch.cuda", "helpers/")
_TAKEN = ("done", "stand-in")
_REFUSED = {
    # It needs a package that torch_npu does not ask for.
    "find('torch_npu.dynamo.torchair')",
    # Nothing writes it; who asks an accelerator for it is told so by torch.
    "torch.accelerator.get_device_capability()",
}
"""Statements of rows that the real package refuses, as is known."""


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each example of a rule in each style, and for each table of replacements."""
    known = {name: form for file in forms_files() for name, form in file.forms.items()}
    for form in written(table):
        code = form.name.partition("/")[0]
        if not form.is_python:
            yield Unchecked("forms", form.name, phrase("what it writes is no Python: {file}", file=form.file))
            continue
        if not form.lines:
            yield Unchecked("forms", form.name, phrase("it only takes away"))
            continue
        row = known.get(form.name)
        recorded = row.real if row is not None and row.form == form.digest else {}
        refused = [text for text, told in recorded.items() if not told.startswith(_TAKEN)]
        claim = phrase("the NPU takes what {code} writes: {title}", code=form.name, title=all_rules()[code].name)
        evidence = Evidence.LIVE if recorded else Evidence.PACKAGE
        yield _check(form, claim, code, evidence, refused, quick=form.name.startswith(_QUICK))
    for form in rows(table.torch_npu):
        claim = phrase(
            "torch_npu {torch_npu} takes what the tables put in: {name}", torch_npu=table.torch_npu, name=form.name
        )
        refused = [text for text in form.lines if text in _REFUSED]
        yield _check(form, claim, "", Evidence.LIVE, refused, quick=form.name in _QUICK)


def _check(form: Form, claim: str, subject: str, evidence: Evidence, refused: list[str], *, quick: bool) -> Check:
    return Check(
        id=f"forms/{form.name}",
        claim=claim,
        subject=subject,
        evidence=evidence,
        source="tools/forms",
        function="forms_asked:refused",
        arguments={"job": form.job(), "known": refused},
        expected={},
        alone=True,
        seconds=180,
        quick=quick,
    )
