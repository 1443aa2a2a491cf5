"""What the real torch_npu said of the code that rules write, where it was run (``tools/forms``)."""

from __future__ import annotations

from functools import cache

import msgspec
from packaging.version import Version

from npuify.knowledge.hand_written import DATA
from npuify.language import commas, phrase


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One example of a rule, as one style writes it."""

    form: str
    """Tells whether the example is still the one that was run."""
    real: dict[str, str] = msgspec.field(default_factory=dict)
    """Statement that the rule wrote → ``done``, with the operators whose kernels it asked for; else what stopped it."""
    simulated: dict[str, str] = msgspec.field(default_factory=dict)
    """The same on the simulated NPU, where that differs."""
    libraries: tuple[str, ...] = ()
    """Packages that it imports and that were not there."""
    not_run: str = msgspec.field(default="", name="not run")
    """The kind of file, where it is no Python."""


class FormsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the files that ``tools/forms`` writes."""

    format: int
    forms: dict[str, Form]
    torch_npu: str
    wheel: str
    sha256: str
    torch: str


@cache
def forms_files() -> tuple[FormsFile, ...]:
    """The tables of the releases that were asked, newest first."""
    found = [msgspec.json.decode(path.read_bytes(), type=FormsFile) for path in (DATA / "forms").glob("*.json")]
    return tuple(sorted(found, key=lambda file: Version(file.torch_npu), reverse=True))


def proof_of(code: str) -> tuple[str, ...]:
    """Lines about the example of a rule: where it was run, and what came of it; none where nothing was written."""
    lines = []
    for file in forms_files():
        styles = [form for name, form in file.forms.items() if name.partition("/")[0] == code and form.real]
        answers = {answer for form in styles for answer in form.real.values()}
        if not answers:
            continue
        where = phrase("the real torch_npu {torch_npu}, imported without CANN", torch_npu=file.torch_npu)
        if all(answer.startswith("done") for answer in answers):
            lines.append(
                phrase("Run on {where}: it takes every statement of this example, in each style.", where=where)
            )
        elif all(answer.startswith(("done", "stand-in")) for answer in answers):
            missing = sorted({name for form in styles for name in form.libraries})
            lines.append(
                phrase(
                    "Run on {where}; what it asks of {missing} was not, since those were not there.",
                    where=where,
                    missing=commas(missing),
                )
            )
    return tuple(lines)
