from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from npuify.model import (
    EntryPoint,
    FileError,
    Framework,
    Mention,
    NativeOperator,
    Position,
    Program,
    Safety,
    Severity,
    Survey,
)
from npuify.report import render_migration, render_scan
from npuify.report.areas import area
from npuify.report.verdicts.effort import estimate, minutes
from npuify.report.verdicts.verdict import Level, hours, judge

if TYPE_CHECKING:
    from npuify.model import Finding, MigrationResult, ScanResult

pytestmark = pytest.mark.core

replace = msgspec.structs.replace

SURVEY = Survey(
    (EntryPoint("train.py", (Mention("launcher", "run.sh", 3, "torchrun train.py | tee log"),)),),
    (
        Framework("torch", 4, "train.py:1", ">=2.0", "requirements.txt:1"),
        Framework("triton", 1, "k.py:2", cuda_only=True),
    ),
)


def by_hand(finding: Finding, **other: object) -> Finding:
    return replace(finding, **{"safety": Safety.MANUAL, "edits": (), **other})


def with_findings(scan: ScanResult, *findings: Finding) -> ScanResult:
    return replace(scan, findings=findings, errors=())


# --- the level -------------------------------------------------------------------------------------------------------


def test_nothing_left_runs(clean_result: ScanResult, finding: Finding) -> None:
    assert judge(clean_result).level is Level.RUNS
    verdict = judge(with_findings(clean_result, finding))
    assert (verdict.level, verdict.migrated.count, verdict.manual.count) == (Level.RUNS, 1, 0)
    note = by_hand(finding, severity=Severity.INFO)
    verdict = judge(with_findings(clean_result, note))
    assert (verdict.level, verdict.notes) == (Level.RUNS, 1)


def test_warnings_edits_to_review_and_files_not_treated_need_review(clean_result: ScanResult, finding: Finding) -> None:
    # An error without its edit is never one of those that are not known to stop the program.
    offered = (replace(finding, safety=Safety.REVIEW), "it will not run without the edit offered")
    warned = (by_hand(finding, severity=Severity.WARNING), "none is known to stop the program")
    for one, what in (offered, warned):
        verdict = judge(with_findings(clean_result, one))
        assert (verdict.level, verdict.review.count, verdict.manual.count) == (Level.REVIEW, 1, 0)
        assert verdict.summary == f"1 place to review; {what}."
    assert judge(replace(clean_result, errors=(FileError("x.py", "m"),))).level is Level.REVIEW


def test_errors_without_an_edit_need_work(clean_result: ScanResult, finding: Finding) -> None:
    verdict = judge(with_findings(clean_result, finding, by_hand(finding, start=Position(9, 1)), by_hand(finding)))
    assert (verdict.level, verdict.manual.count, verdict.manual.files) == (Level.WORK, 2, 1)
    assert [(place.file, place.line) for place in verdict.manual.places] == [("train.py", 3), ("train.py", 9)]
    assert verdict.manual.by_code == {"NPU101": 2}
    assert "2 places will not run until you change them." == verdict.summary  # noqa: SIM300


def test_a_safe_finding_without_an_edit_is_not_migrated(clean_result: ScanResult, finding: Finding) -> None:
    verdict = judge(with_findings(clean_result, replace(finding, edits=())))
    assert (verdict.migrated.count, verdict.manual.count, verdict.level) == (0, 1, Level.WORK)


def test_kernels_and_packages_block(clean_result: ScanResult, finding: Finding) -> None:
    verdict = judge(replace(clean_result, survey=Survey(kernels=("csrc/a.cu", "csrc/b.cu"))))
    assert verdict.level is Level.BLOCKED
    assert [(place.file, place.line) for place in verdict.blockers[0].places] == [("csrc/a.cu", 0), ("csrc/b.cu", 0)]
    package = by_hand(finding, code="NPU607", name="no-form", subject="pycuda")
    verdict = judge(with_findings(clean_result, package))
    assert verdict.level is Level.BLOCKED
    assert verdict.blockers[0].what == "pycuda (NPU607 no-form)"
    assert not verdict.deciding
    assert judge(with_findings(clean_result, replace(package, severity=Severity.WARNING))).level is Level.REVIEW


def test_one_package_is_one_blocker_wherever_it_is_met(clean_result: ScanResult, finding: Finding) -> None:
    asked = by_hand(finding, code="NPU607", name="dropped", subject="flash_attn.cuda", file="requirements.txt")
    imported = by_hand(finding, code="NPU620", name="import", subject="flash_attn.bert_padding.pad_input")
    verdict = judge(with_findings(clean_result, asked, imported))
    assert [[place.file for place in one.places] for one in verdict.blockers] == [["requirements.txt", "train.py"]]
    assert verdict.blockers[0].what == "flash_attn (NPU607 dropped)"
    assert verdict.summary.startswith("1 dependency has no Ascend version")


def test_versions_to_ask_for_do_not_block(clean_result: ScanResult, finding: Finding) -> None:
    pin = by_hand(finding, code="NPU601", name="torch-without-torch-npu", subject="torch")
    assert judge(with_findings(clean_result, pin)).level is Level.WORK


@pytest.mark.parametrize("folder", [".github/workflows", "docs/guides", "tests", "pkg/test/unit", "tutorials"])
def test_what_the_program_does_not_need_neither_blocks_nor_stops(
    clean_result: ScanResult, finding: Finding, folder: str
) -> None:
    package = by_hand(finding, code="NPU620", name="no-form", subject="pycuda", file=f"{folder}/x.py")
    verdict = judge(with_findings(clean_result, package))
    assert (verdict.level, verdict.manual.count, verdict.blockers) == (Level.REVIEW, 1, ())
    assert verdict.summary.startswith("1 place outside the programs (tests, documentation, environment, notebooks)")
    assert [one.what for one in verdict.deciding] == ["pycuda (NPU620 no-form)"]
    both = judge(with_findings(clean_result, package, replace(package, file="pkg/x.py")))
    assert (both.level, len(both.blockers), both.deciding) == (Level.BLOCKED, 1, ())


def test_operators_that_nothing_calls_are_to_be_looked_at(clean_result: ScanResult) -> None:
    operator = NativeOperator("a.cpp", 3, "op", "ext", "elementwise", ("kernel",))
    verdict = judge(replace(clean_result, survey=Survey(kernels=("a.cu",), operators=(operator,))))
    assert (verdict.level, verdict.blockers) == (Level.REVIEW, ())
    assert verdict.summary.startswith("CUDA code that no Python code was found to call")
    called = msgspec.structs.replace(operator, calls=("ext.py:4",))
    verdict = judge(replace(clean_result, survey=Survey(kernels=("a.cu",), operators=(called,))))
    assert (verdict.level, verdict.blockers[0].places[0].line) == (Level.BLOCKED, 4)
    basis = [part.basis for part in verdict.estimate.parts if part.name.startswith("CUDA operators")]
    assert basis == ["1 operator that Python calls, 2 to 12 hours each"]
    two = (called, msgspec.structs.replace(called, name="other"))
    parts = estimate(replace(clean_result, survey=Survey(kernels=("a.cu",), operators=two)), (), ()).parts
    assert "2 operators that Python calls, 2 to 12 hours each" in {part.basis for part in parts}


@pytest.mark.parametrize(
    ("files", "maybe", "aside", "level"),
    [
        (("main.py",), (), (("ext.py", "the optional import at main.py:3"),), Level.RUNS),
        (("main.py",), ("ext.py",), (), Level.REVIEW),
        (("main.py", "ext.py"), (), (), Level.BLOCKED),
    ],
    ids=["optional", "perhaps", "called"],
)
def test_operators_decide_where_a_program_may_come_to_a_call(
    clean_result: ScanResult,
    files: tuple[str, ...],
    maybe: tuple[str, ...],
    aside: tuple[tuple[str, str], ...],
    level: Level,
) -> None:
    operator = NativeOperator("a.cpp", 3, "op", "ext", "elementwise", ("kernel",), calls=("ext.py:4",))
    program = Program("main.py", files, maybe=maybe, aside=aside)
    survey = Survey(kernels=("a.cu",), operators=(operator,))
    scan = replace(clean_result, survey=survey, programs=(program,))
    assert judge(scan).level is level
    unseen = msgspec.structs.replace(operator, name="other", calls=())
    both = replace(scan, survey=replace(survey, operators=(operator, unseen)))
    assert judge(both).level is (Level.REVIEW if level is Level.RUNS else level)


@pytest.mark.parametrize(
    ("file", "unsure", "level"),
    [
        ("train.py", (), Level.WORK),
        ("train.py", (("train.py", 3),), Level.REVIEW),
        ("perhaps.py", (), Level.REVIEW),
        ("library.py", (), Level.REVIEW),
        ("requirements.txt", (), Level.RUNS),
        ("docker/Dockerfile", (), Level.RUNS),
        ("setup.py", (), Level.RUNS),
        ("tests/test_it.py", (), Level.RUNS),
    ],
)
def test_a_project_is_no_worse_than_its_programs(
    file: str, unsure: tuple[tuple[str, int], ...], level: Level, clean_result: ScanResult, finding: Finding
) -> None:
    program = Program("train.py", ("train.py",), maybe=("perhaps.py",), unsure=unsure)
    scan = replace(with_findings(clean_result, by_hand(finding, file=file)), programs=(program,))
    verdict = judge(scan)
    (own,) = verdict.programs
    assert verdict.level is level
    assert own.level is (Level.RUNS if file == "library.py" else level)
    left = "1 place is left outside the programs (tests, documentation, environment, notebooks)."
    assert verdict.summary.endswith(left) == (level is Level.RUNS)


def test_a_project_that_asks_for_an_npu_is_to_be_run_first(clean_result: ScanResult, finding: Finding) -> None:
    said = by_hand(finding, code="NPU108", name="npu-supported-already", severity=Severity.WARNING)
    assert judge(with_findings(clean_result, said)).summary.endswith(
        "The project already checks for an NPU (train.py:3): run it unchanged first."
    )


def test_a_project_on_another_framework_is_not_called_fine(clean_result: ScanResult) -> None:
    name = "jax"

    def on(*packages: Framework) -> ScanResult:
        return replace(clean_result, survey=Survey(frameworks=packages))

    verdict = judge(on(Framework(name, 12, "a.py:3"), Framework("torch", 2, "b.py:1"), Framework("ray", 40, "c.py:1")))
    assert verdict.level is Level.BLOCKED
    assert verdict.summary.startswith(f"The project is based on {name} (12 files import it).")
    (named,) = verdict.blockers
    assert (named.what, named.places[0].file, named.places[0].line) == (name, "a.py", 3)
    assert any(part.name == f"Port from {name}" for part in verdict.estimate.parts)
    beside = judge(on(Framework(name, 2, "a.py:3"), Framework("torch", 12, "b.py:1")))
    assert (beside.level, beside.estimate.parts[-1].name) == (Level.RUNS, "Try each entry point")


@pytest.mark.parametrize("name", ["tensorflow", "paddle"])
def test_a_framework_with_rules_is_never_said_to_run(clean_result: ScanResult, name: str) -> None:
    verdict = judge(replace(clean_result, survey=Survey(frameworks=(Framework(name, 12, "a.py:3"),))))
    assert verdict.level is Level.REVIEW
    assert verdict.summary.startswith(f"The project is based on {name} (12 files import it).")
    assert not any(part.name.startswith("Port from") for part in verdict.estimate.parts)


def test_where_nothing_is_to_move_nothing_is_estimated(clean_result: ScanResult) -> None:
    verdict = judge(clean_result)
    assert (verdict.level, verdict.estimate.high, verdict.estimate.parts) == (Level.RUNS, 0, ())
    assert verdict.summary.startswith("Nothing to migrate was found")
    assert hours(verdict.estimate) == "0 hours"
    for name in ("text", "markdown", "html", "json"):
        assert "Nothing to migrate was found" in render_scan(clean_result, name)


@pytest.mark.parametrize(
    "file", [".github/workflows/test.yml", ".devcontainer/setup.sh", ".gitlab-ci.yml", "demo.ipynb"]
)
def test_what_stands_beside_the_program_does_not_block_it(
    clean_result: ScanResult, finding: Finding, file: str
) -> None:
    package = by_hand(finding, code="NPU620", name="no-form", subject="pycuda")
    beside = replace(package, file=file)
    scan = replace(with_findings(clean_result, beside), survey=SURVEY)
    verdict = judge(scan)
    assert (verdict.level, verdict.blockers, verdict.manual.count) == (Level.REVIEW, (), 1)
    assert [one.what for one in verdict.deciding] == ["pycuda (NPU620 no-form)"]
    assert verdict.summary.startswith("1 place outside the programs")
    assert judge(replace(scan, findings=(beside, package))).level is Level.BLOCKED


def test_a_project_of_notebooks_is_blocked_by_a_notebook(clean_result: ScanResult, finding: Finding) -> None:
    package = by_hand(finding, code="NPU620", name="no-form", subject="pycuda", file="demo.ipynb")
    only = Survey((EntryPoint("demo.ipynb", ()),))
    assert judge(replace(with_findings(clean_result, package), survey=only)).level is Level.BLOCKED


def test_what_decides_is_grouped_and_the_costliest_comes_first(clean_result: ScanResult, finding: Finding) -> None:
    light = by_hand(finding, severity=Severity.WARNING, subject="a")
    heavy = by_hand(finding, code="NPU501", name="flash", subject="b")
    verdict = judge(with_findings(clean_result, light, heavy, replace(heavy, start=Position(8, 1))))
    assert [one.what for one in verdict.deciding] == ["b (NPU501 flash)", "a (NPU101 cuda-name)"]
    assert [place.line for place in verdict.deciding[0].places] == [3, 8]


def test_what_costs_most_counts_its_places_and_names_a_package_once(clean_result: ScanResult, finding: Finding) -> None:
    one = by_hand(finding, code="NPU102", name="missing", subject="a")
    many = [by_hand(finding, name="many", subject="b", start=Position(line, 1)) for line in range(1, 40)]
    parts = [
        by_hand(finding, code="NPU620", name="no-form", subject=f"engine.{part}", severity=Severity.WARNING)
        for part in ("layers.Norm", "fp8", "layers.Linear")
    ]
    verdict = judge(with_findings(clean_result, one, *many, *parts))
    assert [said.what for said in verdict.deciding] == [
        "b (NPU101 many)",
        "engine (NPU620 no-form)",
        "a (NPU102 missing)",
    ]
    private = [by_hand(finding, code="NPU620", name="no-form", subject=f"torch._C._{one}") for one in "ab"]
    assert [said.what for said in judge(with_findings(clean_result, *private)).blockers] == [
        "torch._C._a (NPU620 no-form)",
        "torch._C._b (NPU620 no-form)",
    ]
    asked = by_hand(finding, code="NPU608", name="needs-work", subject="Engine", file="requirements.txt")
    verdict = judge(with_findings(clean_result, asked, *parts))
    assert [said.what for said in verdict.blockers] == ["Engine (NPU608 needs-work)"]
    assert verdict.deciding == ()


def test_what_the_program_runs_without_is_told_last(clean_result: ScanResult, finding: Finding) -> None:
    heavy = by_hand(finding, code="NPU501", name="flash", subject="b", file="tests/a.py")
    light = by_hand(finding, severity=Severity.WARNING, subject="a")
    verdict = judge(with_findings(clean_result, heavy, light))
    assert [one.what for one in verdict.deciding] == ["a (NPU101 cuda-name)", "b (NPU501 flash)"]
    package = by_hand(finding, code="NPU607", name="no-form", subject="pycuda")
    assert "  By hand: 2 places in 2 files (NPU501, NPU607): train.py:3, tests/a.py:3\n" in render_scan(
        with_findings(clean_result, package, heavy)
    )
    blocked = judge(with_findings(clean_result, package, heavy)).summary
    assert blocked.endswith("; 1 in tests, documentation, environment, notebooks.")


def test_a_program_that_names_no_device_is_told_that_it_computes_on_the_cpu(
    clean_result: ScanResult, finding: Finding
) -> None:
    torch = Framework("torch", 1, "train.py:1")
    plain = replace(clean_result, survey=Survey(frameworks=(torch,)))
    verdict = judge(plain)
    assert verdict.level is Level.RUNS
    assert verdict.summary.startswith("No code names a GPU") and "--place-on-npu" in verdict.summary
    # As in Hamiltonian Neural Networks: what is said of every training in float32 names no device.
    noted = with_findings(plain, by_hand(finding, code="NPU217", severity=Severity.INFO))
    assert judge(noted).summary == verdict.summary
    lightning = Survey(frameworks=(torch, Framework("lightning", 1, "train.py:2")))
    for other in (with_findings(plain, finding), replace(plain, survey=lightning), replace(plain, survey=SURVEY)):
        assert "--place-on-npu" not in judge(other).summary


def test_operators_are_listed_whatever_they_break(clean_result: ScanResult, finding: Finding) -> None:
    slow = by_hand(finding, code="NPU414", severity=Severity.INFO, subject="torch.det", message="runs on the CPU")
    other = by_hand(finding, code="NPU417", severity=Severity.INFO, subject="torchvision.ops.nms")
    result = with_findings(clean_result, other, slow, replace(slow, start=Position(9, 1)), by_hand(finding))
    verdict = judge(result)
    assert [(one.what, len(one.places)) for one in verdict.operators] == [("torch.det", 2), ("torchvision.ops.nms", 1)]
    for name in ("text", "markdown", "html", "json"):
        assert "torch.det" in render_scan(result, name)
    assert "Critical operators: torch.det, torchvision.ops.nms" in render_scan(result, "text")


def test_a_migration_is_judged_by_what_it_left(migration_result: MigrationResult) -> None:
    verdict = judge(migration_result)
    assert (verdict.level, verdict.migrated.count, verdict.review.count) == (Level.REVIEW, 2, 2)
    done = replace(migration_result, left=(), scan=replace(migration_result.scan, errors=()))
    assert judge(done).level is Level.RUNS


# --- the estimate ----------------------------------------------------------------------------------------------------


def test_even_a_project_without_findings_costs_the_fixed_parts(clean_result: ScanResult) -> None:
    value = estimate(replace(clean_result, survey=SURVEY), (), ())
    assert [part.name for part in value.parts] == [
        "Environment",
        "First run on one card",
        "Acceptance",
        "Try each entry point",
    ]
    assert 0 < value.low < value.likely < value.high
    assert value.how
    assert hours(value) == f"{value.likely:g} hours ({value.low:g} to {value.high:g})"


def test_further_places_of_one_kind_cost_less_than_places_of_other_kinds(finding: Finding) -> None:
    one = by_hand(finding)
    same = [replace(one, start=Position(line, 1)) for line in range(1, 11)]
    differing = [replace(one, subject=str(number)) for number in range(10)]
    (alone,), (repeated,), (apart,) = (minutes(group).values() for group in ([one], same, differing))
    assert alone < repeated < apart
    assert apart == pytest.approx(10 * alone)


def test_a_package_without_a_form_is_one_decision(finding: Finding) -> None:
    def cost(*subjects: str) -> float:
        return sum(minutes([by_hand(finding, code="NPU620", subject=one) for one in subjects]).values())

    one = cost("engine.a")
    assert one < cost("engine.a", "engine.b.c", "engine") < 1.2 * one
    assert cost("engine.a", "other.a") == pytest.approx(2 * one)


def test_worse_findings_and_work_by_hand_cost_more(finding: Finding) -> None:
    def cost(one: Finding) -> float:
        return sum(minutes([one]).values())

    assert cost(finding) < cost(replace(finding, safety=Safety.REVIEW)) < cost(by_hand(finding))
    costs = [cost(by_hand(finding, severity=severity)) for severity in Severity]
    assert costs == sorted(costs, reverse=True)
    assert cost(by_hand(finding, code="NPU501")) > cost(by_hand(finding))


def test_parts_add_up_to_the_ends(scan_result: ScanResult, finding: Finding) -> None:
    scan = replace(scan_result, survey=Survey(kernels=("a.cu",)))
    value = estimate(scan, [by_hand(finding)], [finding])
    assert {"CUDA kernels", "Files not processed", "Review the edits", "Devices and names"} <= {
        one.name for one in value.parts
    }
    assert value.low == pytest.approx(sum(part.low for part in value.parts), rel=0.3)
    assert value.high == pytest.approx(sum(part.high for part in value.parts), rel=0.1)
    assert all(0 <= part.low <= part.high for part in value.parts)


def test_what_is_not_counted_in_full_is_said(clean_result: ScanResult) -> None:
    points = tuple(EntryPoint(f"{number}.py", ()) for number in range(30))
    survey = replace(SURVEY, entry_points=points)
    (part,) = (one for one in estimate(replace(clean_result, survey=survey), (), ()).parts if "entry" in one.name)
    assert part.basis == "30 entry points, 5 to 30 minutes each; at most 12 are counted"
    assert (part.low, part.high) == (1, 6)


def test_areas_of_a_few_minutes_share_a_line(clean_result: ScanResult, finding: Finding) -> None:
    notes = [by_hand(finding, code=code, severity=Severity.INFO) for code in ("NPU401", "NPU801")]
    left = [by_hand(finding), *notes]
    parts = {part.name: part.basis for part in estimate(with_findings(clean_result, *left), left, ()).parts}
    assert "Devices and names" in parts
    assert parts["Other areas"] == "a few minutes each: Operators and types, training practice"


def test_every_area_of_a_code_has_a_name() -> None:
    assert [area(f"NPU{digit}01") for digit in range(1, 10)].count("Other") == 0
    assert area("NPU001") == area("X1") == "Other"


# --- how it is told --------------------------------------------------------------------------------------------------


def test_it_is_told_in_every_format_that_a_person_reads(
    clean_result: ScanResult, migration_result: MigrationResult
) -> None:
    scan = replace(clean_result, survey=replace(SURVEY, kernels=("csrc/a.cu",)))
    text = render_scan(scan)
    assert "Verdict: blocked. " in text
    assert "  Blocked by 1 CUDA source file of the project (csrc/a.cu)\n    Find out which of them you need." in text
    assert "  Entry points: train.py\n" in text
    assert "  Depends on torch >=2.0, triton\n" in text
    page = render_scan(scan, "markdown")
    assert "- [ ] **1 CUDA source file of the project**" in page
    assert "| `train.py` | launcher, `run.sh:3`, `torchrun train.py \\| tee log` |" in page
    assert "| triton (published for CUDA) | not specified | 1 |" in page
    assert "Verdict: needs review" in render_migration(migration_result)


def test_json_holds_it_and_stays_version_1(clean_result: ScanResult, migration_result: MigrationResult) -> None:
    document = json.loads(render_scan(replace(clean_result, survey=SURVEY), "json"))
    assert document["version"] == 1
    verdict = document["verdict"]
    assert (verdict["level"], verdict["title"]) == ("runs", "Runs after migration")
    assert verdict["survey"]["entry_points"][0]["mentions"][0]["file"] == "run.sh"
    assert verdict["estimate"]["parts"][0]["name"] == "Environment"
    assert json.loads(render_migration(migration_result, "jsonl").splitlines()[-1])["verdict"]["level"] == "review"
