"""What is said of profiles whose bottleneck is known; see profiles.py for where their formats come from."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from npuify.model import NpuifyError
from npuify.verify.profile.model import Bound, ProfileReport
from npuify.verify.profile.own_time import OwnTimes
from npuify.verify.profile.page import render_html
from npuify.verify.profile.run import read_profile
from npuify.verify.profile.text import render_json, render_text

from . import profiles

if TYPE_CHECKING:
    from pathlib import Path


def advised(report: ProfileReport) -> set[str]:
    return {one.id for one in report.advice}


def test_bound_by_the_device(tmp_path: Path) -> None:
    steps = [(500.0, 0.0, 900.0)] + [(980.0, 0.0, 20.0)] * 3
    kernels = [profiles.kernel(kind, core, time, shapes, types) for kind, core, time, shapes, types in profiles.KERNELS]
    report = read_profile(profiles.torch_npu(tmp_path, steps, kernels))
    assert (report.bound, report.device, report.kind) == (Bound.DEVICE, "NPU", "torch_npu profiler")
    assert report.step_time == 1000.0
    assert report.computing_share == pytest.approx(0.98), "the first step warms up and does not count"
    assert [(one.name, one.core) for one in report.operators] == [("MatMulV3", "AI_CORE"), ("Add", "AI_VECTOR_CORE")]
    assert report.operators[0].share == pytest.approx(300 / 350)
    assert advised(report) == {"T06"}
    assert "T03" not in advised(report)


def test_bound_by_the_host(tmp_path: Path) -> None:
    environment = {
        "ASCEND_LAUNCH_BLOCKING": "1",
        "ASCEND_GLOBAL_LOG_LEVEL": "1",
        "HCCL_ALGO": "ring",
        "PYTORCH_NPU_ALLOC_CONF": "",
    }
    report = read_profile(profiles.torch_npu(tmp_path, [(300.0, 0.0, 700.0)] * 4, environment=environment))
    assert report.bound is Bound.HOST
    assert report.idle_share == pytest.approx(0.7)
    assert {"T17", "T18", "T19", "T29"} <= advised(report)
    assert "T03" not in advised(report), "the task queue does nothing while launches block"
    other = profiles.torch_npu(tmp_path / "other", [(300.0, 0.0, 700.0)] * 4)
    assert "T03" in advised(read_profile(other))


def test_bound_by_communication(tmp_path: Path) -> None:
    folder = profiles.torch_npu(tmp_path, [(300.0, 650.0, 50.0)] * 3)
    output = next(folder.rglob("ASCEND_PROFILER_OUTPUT"))
    (output / "communication.json").write_text(json.dumps(profiles.communication()))
    report = read_profile(folder)
    assert report.bound is Bound.COMMUNICATION
    assert report.exposed_share == pytest.approx(0.65)
    assert [(one.name, one.count, one.time) for one in report.communications] == [("hcom_allReduce", 2, 5000.0)]
    assert "T16" in advised(report), "400 MB in one message"


def test_the_engine_around_a_backward_is_not_told_besides_it(tmp_path: Path) -> None:
    report = read_profile(profiles.torch_npu(tmp_path, [(300.0, 0.0, 700.0)] * 3, trace=profiles.host_trace()))
    names = [one.name for one in report.host_operators]
    assert "AddmmBackward0" in names
    assert not any("evaluate_function" in name for name in names)
    assert "Operators on the host, self time" in render_text(report)


def test_an_operator_is_told_without_what_it_calls(tmp_path: Path) -> None:
    report = read_profile(profiles.torch_npu(tmp_path, [(300.0, 0.0, 700.0)] * 3, trace=profiles.host_trace()))
    times = {one.name: one.time for one in report.host_operators}
    # 100 us, of which 90 lie in the operator below it; three steps.
    assert times["aten::linalg_eigvals"] == pytest.approx(30)
    assert times["aten::_linalg_eigvals"] == pytest.approx(270)
    assert sum(one.share for one in report.host_operators) <= 1


def test_own_times_of_threads_and_of_events_in_any_order() -> None:
    times = OwnTimes()
    for thread, name, start, duration in (
        (1, "inner", 2.0, 3.0),
        (1, "outer", 0.0, 10.0),
        (1, "inner", 6.0, 2.0),
        (2, "outer", 1.0, 4.0),
        (1, "later", 10.0, 5.0),
        (1, "overlaps", 14.0, 4.0),
    ):
        times.add(thread, name, start, duration)
    assert times.by_name() == {"inner": 5.0, "outer": 9.0, "later": 4.0, "overlaps": 4.0}


def test_bound_by_the_data_and_what_the_trace_shows(tmp_path: Path) -> None:
    report = read_profile(profiles.torch_npu(tmp_path, [(300.0, 0.0, 700.0)] * 3, trace=profiles.host_trace()))
    assert report.bound is Bound.DATA
    assert report.data_share == pytest.approx(0.6)
    assert [(one.name, one.count, one.evidence) for one in report.fallbacks] == [("aten::_linalg_eigvals", 3, "seen")]
    measures = {one.name: one.value for one in report.measures}
    assert measures["items_per_step"] == 1
    assert measures["sync_ratio"] == pytest.approx(0.1)
    assert measures["plain_optimizer"] == "AdamW"
    assert measures["gc_longest"] == 2500
    assert {"T08", "T20", "T21", "T30"} <= advised(report)
    assert not {"T03", "T29"} & advised(report), "what waits for data is not helped by faster dispatch"
    assert "aten::_linalg_eigvals" in render_text(report)


def test_kernels_that_ask_for_advice(tmp_path: Path) -> None:
    kernels = [
        profiles.kernel("BatchMatMul", "AI_CORE", 100, '"8,128,65;8,65,128"', "FLOAT16;FLOAT16"),
        profiles.kernel("SoftmaxV2", "AI_VECTOR_CORE", 60),
        profiles.kernel("Transpose", "AI_VECTOR_CORE", 80),
        profiles.kernel("Cast", "AI_CPU", 40, types="INT64"),
        profiles.kernel("Conv2D", "AI_CORE", 200, '"8,16,32,32;16,16,3,3"', "FLOAT;FLOAT"),
    ]
    report = read_profile(profiles.torch_npu(tmp_path, [(980.0, 0.0, 20.0)] * 3, kernels))
    assert {"T02", "T05", "T10", "T22", "T25", "T32"} <= advised(report)
    assert any("AI CPU: Cast" in line for line in report.said)
    fused = [*kernels, profiles.kernel("FlashAttentionScore", "MIX_AIC", 100)]
    assert "T10" not in advised(read_profile(profiles.torch_npu(tmp_path / "fused", kernels=fused)))


def test_what_is_not_measured_is_not_judged(tmp_path: Path) -> None:
    report = read_profile(profiles.torch_npu(tmp_path, [(980.0, 0.0, 20.0)] * 3))
    unjudged = {one.id: one.lacks for one in report.unjudged}
    assert unjudged["T22"] == ("aicpu_longest",)
    assert unjudged["T17"] == ("env.HCCL_ALGO",)
    assert "T03" not in unjudged, "idle time is known, and little"
    assert {"T22", "T17"}.isdisjoint(advised(report))


def test_several_ranks(tmp_path: Path) -> None:
    for rank, time in enumerate((900.0, 1300.0, 910.0)):
        profiles.torch_npu(tmp_path, [(time, 50.0, 10.0)] * 3, rank=rank)
    report = read_profile(tmp_path)
    assert report.rank == "rank 1", "the slowest"
    assert len(report.ranks) == 3
    assert "T35" in advised(report)
    assert read_profile(tmp_path, rank="2").rank == "rank 2"
    with pytest.raises(NpuifyError, match="no rank '7'"):
        read_profile(tmp_path, rank="7")


def test_msprof(tmp_path: Path) -> None:
    report = read_profile(profiles.msprof(tmp_path))
    assert report.kind == "msprof"
    assert report.step_time == pytest.approx(110.0)
    assert report.bound is Bound.UNKNOWN, "msprof tells how long an iteration is, and not what is in it"
    assert {"T01", "T22"} <= advised(report)
    assert {one.name: one.value for one in report.measures}["sync_ratio"] == pytest.approx(0.25)


def test_a_trace_of_cuda(tmp_path: Path) -> None:
    path = tmp_path / "worker0.pt.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(profiles.cuda_trace()).encode()))
    report = read_profile(path, torch_npu="2.13.0")
    assert (report.device, report.kind) == ("GPU", "torch profiler")
    # Computing covers 50 to 600; of the collective, 500 to 700, the part after 600 is exposed; the copy is neither.
    assert report.computing_share == pytest.approx(0.55)
    assert report.exposed_share == pytest.approx(0.1)
    assert report.idle_share == pytest.approx(0.35)
    assert [(one.name, one.evidence) for one in report.fallbacks] == [("aten::_linalg_eigvals", "expected")]
    assert report.communications[0].core == "NCCL"
    assert "T03" not in advised(report), "advice for NPUs is not given for a GPU's idle time"
    assert read_profile(tmp_path).kind == "torch profiler"


def test_torch_npu_trace_alone(tmp_path: Path) -> None:
    start = 1_700_000_000_000_000.0
    trace = [
        profiles.event("ProfilerStep#1", start, 1000),
        profiles.event("aclnnMul_MulAiCore_Mul", start + 100, 300, pid=9, cat="", **{"Task Type": "AI_VECTOR_CORE"}),
        profiles.event("hcom_allReduce__5_1_1", start + 300, 300, pid=10, cat=""),
        profiles.named(9, "Ascend Hardware"),
        profiles.named(10, "Communication"),
    ]
    report = read_profile(profiles.torch_npu(tmp_path, trace=trace))
    assert report.device == "NPU"
    assert (report.computing_share, report.exposed_share, report.idle_share) == pytest.approx((0.3, 0.2, 0.5))
    assert report.operators[0].core == "AI_VECTOR_CORE"
    assert report.communications[0].name == "hcom_allReduce"


def test_its_own_analysis_of_overlap_wins(tmp_path: Path) -> None:
    start = 1_700_000_000_000_000.0
    trace = [profiles.named(11, "Overlap Analysis"), profiles.event("ProfilerStep#1", start, 1000)]
    for name, at, time in (
        ("Computing", 0, 600),
        ("Communication", 500, 300),
        ("Communication(Not Overlapped)", 600, 200),
        ("Free", 800, 200),
    ):
        trace.append(profiles.event(name, start + at, time, pid=11, cat=""))
    report = read_profile(profiles.torch_npu(tmp_path, trace=trace))
    assert (report.computing_share, report.exposed_share, report.idle_share) == pytest.approx((0.6, 0.2, 0.2))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: None, "no profile was found"),
        (lambda folder: (folder / "PROF_0001" / "device_0").mkdir(parents=True), "not been analysed|raw data"),
        (lambda folder: (folder / "x.json").write_text("[1, 2"), "no profile was found"),
    ],
)
def test_what_is_no_profile(tmp_path: Path, make: Any, said: str) -> None:
    make(tmp_path)
    with pytest.raises(NpuifyError, match=said):
        read_profile(tmp_path)


def test_databases(tmp_path: Path) -> None:
    report = read_profile(profiles.databases(tmp_path))
    assert (report.device, report.bound) == ("NPU", Bound.HOST)
    assert report.step_time == pytest.approx(1000.0)
    assert [(one.name, one.core, one.time) for one in report.operators] == [
        ("MatMul", "AI_CORE", 300.0),
        ("Cast", "AI_CPU", 40.0),
    ]
    assert [(one.name, one.time) for one in report.communications] == [("hcom_allReduce", 100.0)]
    assert [(one.name, one.count) for one in report.fallbacks] == [("aten::_linalg_eigvals", 1)]
    measures = {one.name: one.value for one in report.measures}
    assert measures["sync_ratio"] == 0.5
    assert measures["gc_longest"] == 2500
    assert {"T19", "T21", "T22", "T30"} <= advised(report)


def test_a_database_that_is_none(tmp_path: Path) -> None:
    output = tmp_path / "a_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "ascend_pytorch_profiler_0.db").write_bytes(b"SQLite format 3\0" + b"x" * 2000)
    with pytest.raises(NpuifyError, match="cannot be read"):
        read_profile(tmp_path)


def test_reports(tmp_path: Path) -> None:
    kernels = [profiles.kernel("<script>alert(1)</script>", "AI_CORE", 10)]
    folder = profiles.torch_npu(tmp_path, [(300.0, 100.0, 700.0)] * 80, kernels, trace=profiles.host_trace())
    report = read_profile(folder)
    page = render_html(report)
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    for figure in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(figure)
    assert "the first 60 of 80 are drawn" in page
    assert json.loads(render_json(report))["bound"] == "data"
    assert render_text(report).startswith("Data-bound")
