"""What was seen on hardware becomes knowledge: it is shown, it is used, and nothing is overwritten in silence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from npuify import explain, knowledge, scan
from npuify.knowledge.hardware.facts import forget, own_folder
from npuify.knowledge.hardware.results import MachineSeen, SelftestResult, Status
from npuify.knowledge.pytorch.functions import lack_of
from npuify.model import Evidence, NpuifyError, Safety
from npuify.options import Options
from npuify.selftest.learn import Learned, learn, render
from npuify.selftest.run import plan_for
from npuify.selftest.runner import outcome_of
from npuify.selftest.text import render_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RELEASE = "2.13.0"
AREAS = ("names", "behaviour", "calls", "forms", "attention", "kernels")
MACHINE = MachineSeen(
    kind="npu", chip="Ascend910B3", cards=8, cann="9.1.0", torch="2.13.0", torch_npu=RELEASE, driver="25.2"
)
SEEN = "seen on Ascend910B3, CANN 9.1.0, torch_npu 2.13.0"


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NPUIFY_KNOWLEDGE_DIR", str(tmp_path / "knowledge"))
    forget()
    knowledge.load.cache_clear()
    yield
    monkeypatch.undo()
    forget()
    knowledge.load.cache_clear()


@pytest.fixture(scope="module")
def checks() -> dict[str, Any]:
    return {check.id: check for check in plan_for(knowledge.load(RELEASE), AREAS).checks}


def result_of(checks: dict[str, Any], seen: dict[str, Any], machine: MachineSeen = MACHINE) -> SelftestResult:
    """A result in which these claims were asked; what is seen: the answer, ``...`` for the one that is claimed."""
    outcomes = [
        outcome_of(checks[name], {"seen": msgspec.to_builtins(checks[name].expected) if answer is ... else answer})
        for name, answer in seen.items()
    ]
    return SelftestResult(
        version=1, tool="0.1.0", language="en", complete=False, machine=machine, outcomes=tuple(outcomes)
    )


def keep(result: SelftestResult, tmp_path: Path, **options: bool) -> Learned:
    path = tmp_path / "result.json"
    path.write_text(render_json(result), encoding="utf-8")
    return learn(path, **options)


def codes(tmp_path: Path, text: str) -> dict[str, Any]:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / "train.py").write_text("import torch\n" + text, encoding="utf-8")
    return {one.code: one for one in scan([project], Options(torch_npu=RELEASE, cache=False)).findings}


def test_a_fact_that_held_says_where(checks: dict[str, Any], tmp_path: Path) -> None:
    claims = {
        "names/torch_npu.npu.memory_allocated": ...,
        "behaviour/torch.cuda.get_device_capability returns-none": ...,
    }
    learned = keep(result_of(checks, claims), tmp_path)
    assert (learned.held, learned.refuted, learned.conflicts) == (2, (), ())
    found = codes(tmp_path, "print(torch.cuda.memory_allocated(), torch.cuda.get_device_capability())\n")
    known = {(one.evidence, one.source) for one in found.values()}
    assert (Evidence.HARDWARE, SEEN) in known
    row = knowledge.load(RELEASE).counterpart("torch.cuda.get_device_capability")
    assert row is not None and (row.evidence, row.source) == (Evidence.HARDWARE, SEEN)
    text = "\n".join(explain("torch.cuda.memory_allocated").text)
    assert "Seen on Ascend910B3, CANN 9.1.0, torch_npu 2.13.0: it holds" in text


def test_a_name_that_is_not_there_is_no_longer_written(checks: dict[str, Any], tmp_path: Path) -> None:
    text = "torch.cuda.synchronize()\n"
    before = codes(tmp_path, text)
    assert any(one.edits and "npu" in one.edits[0].after for one in before.values())
    keep(result_of(checks, {"names/torch_npu.npu.synchronize": {"kind": "none"}}), tmp_path)
    after = codes(tmp_path, text)
    assert not any("npu.synchronize" in edit.after for one in after.values() for edit in one.edits)
    assert any(one.subject == "torch.cuda.synchronize" and not one.edits for one in after.values())


def test_a_behaviour_that_was_refuted_counts_no_longer(checks: dict[str, Any], tmp_path: Path) -> None:
    name = "torch.cuda.current_blas_handle"
    before = knowledge.load(RELEASE).counterpart(name)
    assert before is not None and before.status == "changed"
    keep(result_of(checks, {f"behaviour/{name} returns-none": False}), tmp_path)
    after = knowledge.load(RELEASE).counterpart(name)
    assert after is not None and (after.status, after.meaning) == ("same", None)
    assert any("it does not hold" in line for line in explain(name).text)


def test_what_rests_on_a_refuted_behaviour_is_for_review(checks: dict[str, Any], tmp_path: Path) -> None:
    text = "major, minor = torch.cuda.get_device_capability()\n"
    assert codes(tmp_path, text)["NPU130"].safety is Safety.SAFE
    keep(result_of(checks, {"behaviour/torch.cuda.get_device_capability returns-none": [9, 0]}), tmp_path)
    found = codes(tmp_path, text)
    assert found["NPU130"].safety is Safety.REVIEW and found["NPU130"].edits
    assert "Ascend910B3, CANN 9.1.0, torch_npu 2.13.0 did otherwise: [9,0]." in found["NPU130"].message
    # What the name is called does not rest on it.
    assert found["NPU101"].safety is Safety.SAFE


def test_edits_that_write_what_computed_otherwise_are_for_review(checks: dict[str, Any], tmp_path: Path) -> None:
    text = (
        "from flash_attn import flash_attn_func\nfrom torch_scatter import scatter_add\n\n\n"
        "def f(x, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at):\n"
        "    return scatter_add(x, at), flash_attn_func(q, k, v, causal=False)\n"
    )
    before = codes(tmp_path, text)
    assert before["NPU622"].safety is Safety.SAFE
    written = {code for code, one in before.items() if any("npu_fusion_attention" in edit.after for edit in one.edits)}
    assert written
    refuted = {"kernels/scatter scatter_add": "differs", "attention/BNSD float16": {"forward": "differs"}}
    keep(result_of(checks, refuted), tmp_path)
    after = codes(tmp_path, text)
    assert after["NPU622"].safety is Safety.REVIEW
    assert "computed otherwise with scatter.scatter_add." in after["NPU622"].message
    for code in written:
        assert after[code].safety is Safety.REVIEW
        assert "computed otherwise with npu_fusion_attention." in after[code].message


def test_an_operator_that_has_a_kernel_after_all_is_not_told(checks: dict[str, Any], tmp_path: Path) -> None:
    assert lack_of("torch.lgamma", knowledge.load(RELEASE)) is not None
    keep(result_of(checks, {"calls/torch.lgamma": []}), tmp_path)
    assert lack_of("torch.lgamma", knowledge.load(RELEASE)) is None
    assert knowledge.load(RELEASE).on_cpu("torch.lgamma") == ()


def test_a_form_that_was_refused_is_for_review(checks: dict[str, Any], tmp_path: Path) -> None:
    text = 'import torch.distributed as dist\ndist.init_process_group(backend="nccl")\n'
    assert codes(tmp_path, text)["NPU301"].safety is Safety.SAFE
    keep(result_of(checks, {"forms/NPU301/npu": {"dist.init_process_group(backend='hccl')": "RuntimeError"}}), tmp_path)
    found = codes(tmp_path, text)["NPU301"]
    assert found.safety is Safety.REVIEW and found.edits
    assert "Ascend910B3, CANN 9.1.0, torch_npu 2.13.0 refused what this rule writes." in found.message


def test_conflicts_are_shown_and_nothing_is_overwritten(checks: dict[str, Any], tmp_path: Path) -> None:
    claim = "behaviour/torch.cuda.get_device_capability returns-none"
    keep(result_of(checks, {claim: ...}), tmp_path)
    learned = keep(result_of(checks, {claim: False}), tmp_path)
    assert [one.claim for one in learned.conflicts] == [claim]
    assert "it held" in render(learned) and "did not hold; seen: false" in render(learned)
    assert knowledge.load(RELEASE).hardware.seen_on(claim), "kept as it was"
    replaced = render(keep(result_of(checks, {claim: False}), tmp_path, replace=True))
    assert "replaced by what it says now" in replaced and "kept as it was" not in replaced
    assert knowledge.load(RELEASE).hardware.refuted(claim) is not None
    other = msgspec.structs.replace(MACHINE, chip="Ascend910B1")
    learned = keep(result_of(checks, {claim: ...}, other), tmp_path)
    assert [one.claim for one in learned.elsewhere] == [claim] and not learned.conflicts
    hardware = knowledge.load(RELEASE).hardware
    assert hardware.refuted(claim) is None and not hardware.seen_on(claim), "two machines say two things"


def test_what_strangers_claim_about_other_claims_is_left_out(checks: dict[str, Any], tmp_path: Path) -> None:
    good = result_of(checks, {"names/torch_npu.npu.synchronize": ...})
    (outcome,) = good.outcomes
    for change in (
        {"expected": {"kind": "none"}},
        {"seen": {"kind": "none"}},
        {"status": Status.DIFFERS},
        {"id": "names/torch_npu.npu.no_such_name"},
    ):
        bad = msgspec.structs.replace(good, outcomes=(msgspec.structs.replace(outcome, **change),))
        learned = keep(bad, tmp_path)
        assert (learned.held, learned.refuted, learned.unknown) == (0, (), 1), change


@pytest.mark.parametrize("change", [{"kind": "simulated"}, {"kind": "stand-in"}, {"torch_npu": "1.2.3"}])
def test_what_was_not_seen_on_hardware_is_refused(
    change: dict[str, Any], checks: dict[str, Any], tmp_path: Path
) -> None:
    machine = msgspec.structs.replace(MACHINE, **change)
    with pytest.raises(NpuifyError):
        keep(result_of(checks, {"names/torch_npu.npu.synchronize": ...}, machine), tmp_path)
    assert not own_folder().exists()


def test_the_file_says_nothing_but_versions_and_facts(checks: dict[str, Any], tmp_path: Path) -> None:
    learned = keep(result_of(checks, {"names/torch_npu.npu.synchronize": ...}), tmp_path)
    with open(learned.path, encoding="utf-8") as file:  # noqa: PTH123
        content = json.load(file)
    assert set(content) == {"format", "chip", "cann", "torch_npu", "torch", "driver", "facts"}
    assert content["facts"] == {"names/torch_npu.npu.synchronize": {"held": True, "seen": None}}
