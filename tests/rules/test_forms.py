"""Whatever a rule writes was run on the real torch_npu and on the simulated one: ``python -m tools.forms`` does it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest
from tools.forms import table
from tools.forms.binding import refused_calls
from tools.forms.extract import changed_statements, documented

from npuify import knowledge
from npuify.engine.catalog import all_rules
from npuify.knowledge.forms import FormsFile, forms_files, proof_of
from npuify.selftest.areas.form_rows import rows
from npuify.selftest.inside.questions.forms_asked import NOT_SIMULATED

from ..harness import output

if TYPE_CHECKING:
    from pathlib import Path

    from tools.forms.extract import Form

RELEASE = "2.13.0"
RUN = "they have no proof, or another form: run `python -m tools.forms`"


def recorded(folder: Path = table.DOCUMENTED) -> FormsFile:
    return msgspec.json.decode((folder / f"{RELEASE}.json").read_bytes(), type=FormsFile)


def lacking(forms: list[Form], known: FormsFile) -> list[str]:
    digests = {name: row.form for name, row in known.forms.items()}
    return [form.name for form in forms if digests.get(form.name) != form.digest]


def test_every_documented_form_is_proven_as_it_is_now() -> None:
    forms, known = list(documented()), recorded()
    assert lacking(forms, known) == [], RUN
    assert set(known.forms) == {form.name for form in forms}, RUN


TOLD = {
    "NPU114/portable": "left as it is and told of: a handle belongs to one runtime",
}
"""Where the style changes only a part of a statement, and says why the rest is left."""


def test_the_real_package_takes_every_form() -> None:
    refused = {
        f"{name}: {statement}": answer
        for name, row in recorded().forms.items()
        for statement, answer in row.real.items()
        if not answer.startswith("done") and not (answer.startswith("stand-in") and row.libraries)
    }
    assert {name for name in refused if name.partition(":")[0] not in TOLD} == set(), refused
    assert {name.partition(":")[0] for name in refused} == set(TOLD)


def test_the_simulator_takes_what_the_real_package_takes() -> None:
    differs = {f"{name}: {text}": now for name, row in recorded().forms.items() for text, now in row.simulated.items()}
    assert differs == {}


def test_every_row_is_proven_as_it_is_now() -> None:
    forms, known = list(rows(RELEASE)), recorded(table.ROWS)
    assert lacking(forms, known) == [], RUN
    assert set(known.forms) == {form.name for form in forms}, RUN


def test_the_real_package_takes_what_rows_say() -> None:
    answers = {text: answer for row in recorded(table.ROWS).forms.values() for text, answer in row.real.items()}
    assert len(answers) > 800
    refused = {text: answer for text, answer in answers.items() if not answer.startswith("done")}
    assert {text: answer.partition(":")[0] for text, answer in refused.items()} == REFUSED


REFUSED = {
    # It needs a package that torch_npu does not ask for.
    "find('torch_npu.dynamo.torchair')": "PackageNotFoundError",
    # Nothing writes it; who asks an accelerator for it is told so by torch.
    "torch.accelerator.get_device_capability()": "RuntimeError",
}


def test_the_simulator_has_what_rows_say() -> None:
    differs = {text: now for row in recorded(table.ROWS).forms.values() for text, now in row.simulated.items()}
    assert {text for text in differs if not any(name in text for name in NOT_SIMULATED)} == set()


def test_only_forms_that_are_no_python_were_not_run() -> None:
    kinds = {form.name: form.file for form in documented()}
    assert {name: row.not_run for name, row in recorded().forms.items() if row.not_run} == {
        name: file for name, file in kinds.items() if not file.endswith(".py")
    }


def test_statements_of_a_rule_are_told_from_those_that_were_there() -> None:
    before = "import torch\nif a:\n    torch.cuda.synchronize()\n    b()\n"
    after = "import torch\nimport torch_npu\nif a:\n    torch.npu.synchronize(\n    )\n    b()\n"
    assert changed_statements(before, after) == {"import torch_npu": (2, 2), "torch.npu.synchronize()": (4, 5)}
    head = "class A(B):\n\n    def f(self, device='npu'):\n        pass\n"
    assert changed_statements(head.replace("npu", "cuda"), head) == {"def f(self, device='npu'):": (3, 3)}


def test_explain_says_where_it_was_run() -> None:
    whole = f"Run on the real torch_npu {RELEASE}, imported without CANN: it takes every statement of this example, in each style."
    assert proof_of("NPU101") == (whole,)
    assert "vllm" in proof_of("NPU930")[0]
    assert proof_of("NPU102") == ()
    assert whole in all_rules()["NPU101"].explanation.text
    assert [file.torch_npu for file in forms_files()][-1] == RELEASE


NOT_RUN = ["2.1.0.post17", "2.5.1.post1", "2.9.0.post9"]
"""Releases of which there is no build of torch without CUDA to run them on; their tables say what they take."""


@pytest.mark.parametrize("release", NOT_RUN)
def test_forms_bind_in_releases_that_were_not_run(release: str) -> None:
    names = knowledge.load(release)
    for form in documented():
        if form.is_python and form.name.endswith("/npu"):
            after = output(form.before, unsafe=True, name=form.file, release=release, torch=f"=={names.torch}")
            assert list(refused_calls(form.before, after, names)) == [], form.name


@pytest.mark.parametrize(
    "call",
    [
        "torch_npu.npu_fusion_attention(q, k, v, 4, 'BSND', attn_mask=m)",
        "torch_npu.npu_fusion_attention(q, k, v, 4)",
        "torch.npu.synchronize(0, 1)",
        "torch.npu.no_such_name()",
    ],
)
def test_a_call_that_does_not_bind_is_seen(call: str) -> None:
    assert list(refused_calls("", call, knowledge.load("2.9.0.post9"))) != []


REFUSAL = re.compile(
    r"module '?torch|<module 'torch|type object|unexpected keyword|incompatible function|positional arg.* but"
)
"""What Python and torch say of a name that is not there, and of arguments that are not taken."""


def test_no_form_of_a_case_is_refused() -> None:
    known = recorded(table.CASES)
    answers = {f"{name} {text}": now for name, row in known.forms.items() for text, now in row.real.items()}
    assert sum(now.startswith("done") for now in answers.values()) > 1300
    refused = {text.split()[0] for text, now in answers.items() if not now.startswith("done") and REFUSAL.search(now)}
    assert refused == set()
