"""Many ranks: who failed first, who only followed, and what the log of one rank can say."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.diagnosis.model import Confidence
from npuify.model import NpuifyError

from .samples import diagnosed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.core

OOM = "RuntimeError: NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total capacity; 1 free)"
WAIT = (
    "EI0002: [PID: 77] 2025-06-25-11:15:{second}.586.187 The wait execution of the Notify register times out. Reason: The "
    "Notify register has not received the Notify record from remote rank: [{rank}]. base information: [streamID:[1]]"
)


def traceback(file: str, line: int, error: str, prefix: str = "") -> str:
    lines = [
        "Traceback (most recent call last):",
        '  File "/opt/conda/lib/python3.10/runpy.py", line 196, in _run_module_as_main',
        "    return _run_code(code, main_globals, None,",
        f'  File "{file}", line {line}, in train',
        "    loss = model(x)",
        '  File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1736, in _wrapped_call_impl',
        "    return self._call_impl(*args, **kwargs)",
        error,
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


def test_the_rank_that_failed_and_those_that_waited_for_it() -> None:
    log = "2025-06-25 10:45:00,001 INFO start\n"
    for rank in (0, 1, 2):
        log += f"[rank{rank}]: " + WAIT.format(rank=3, second=f"0{rank}") + "\n"
    log += "2025-06-25 10:45:09,512 ERROR step 12\n" + traceback("/home/user/train.py", 40, OOM, "[rank3]: ")
    found = diagnosed(log)
    assert (found.cause, found.first and found.first.rank) == ("out-of-memory", "3")
    assert {story.rank: story.said for story in found.ranks} == {
        "3": "first cause",
        "0": "consequence",
        "1": "consequence",
        "2": "consequence",
    }
    assert found.frame is not None and (found.frame.file, found.frame.line) == ("/home/user/train.py", 40)
    assert found.waited_for == ("3",)


def test_an_exception_that_passes_on_an_error_of_torch_npu_is_no_cause_of_its_own() -> None:
    hccl = (
        "RuntimeError: [ERROR] 2026-03-02-10:14:55 (PID:4120, Device:0, RankID:0) ERR02200 DIST call hccl api failed."
    )
    log = traceback("train.py", 61, hccl, "[rank0]: ")
    log += "[rank0]: EI0006: [PID: 4120] 2026-03-02-10:14:55.301.112 Getting socket times out. Reason: 1. The remote does not connect.\n"
    found = diagnosed(log)
    assert (found.first and found.first.name) == "socket-timeout"


def test_the_earlier_of_two_causes_is_the_first(tmp_path: Path) -> None:
    late = "2025-06-25 10:45:09,000 x\n" + traceback("/w/a.py", 1, "RuntimeError: error code is 507035")
    early = "2025-06-25 10:44:01,000 x\n" + traceback("/w/b.py", 2, OOM)
    (tmp_path / "rank_0.log").write_text(late)
    (tmp_path / "rank_1.log").write_text(early)
    found = npuify.diagnose([tmp_path])
    assert (found.cause, found.first and found.first.rank) == ("out-of-memory", "1")
    (tmp_path / "rank_1.log").write_text(early.replace("10:44:01", "10:46:01"))
    found = npuify.diagnose([tmp_path])
    assert (found.cause, found.first and found.first.rank) == ("kernel-exception", "0")


def test_the_rank_that_is_waited_for_and_says_nothing() -> None:
    waiting = WAIT.format(rank=1, second="00")
    found = diagnosed(f"[rank0]: {waiting}\n[rank1]: Error: none of ours, 0 failed\n[rank2]: {waiting}\n")
    assert found.cause == "collective-timeout" and found.silent == ("1",)
    assert any("Rank 1 was waited for and shows no error" in note for note in found.notes)


def test_a_rank_whose_log_is_missing_is_named() -> None:
    waiting = WAIT.format(rank=7, second="00")
    found = diagnosed(f"[rank0]: {waiting}\n[rank1]: {waiting}\n")
    assert any("Rank 7 was waited for, but its log is not included" in note for note in found.notes)
    assert found.question and found.confidence is Confidence.OPEN


def test_one_rank_alone_asks_for_the_others() -> None:
    found = diagnosed(WAIT.format(rank=4294967295, second="00"))
    assert found.waited_for == () and any("Pass the logs of all ranks" in note for note in found.notes)


def test_what_torchrun_says_decides_where_there_are_no_times() -> None:
    log = traceback("/w/a.py", 1, "ValueError: bad", "[rank0]: ") + traceback("/w/b.py", 2, OOM, "[rank2]: ")
    log += traceback("/w/c.py", 3, OOM, "[rank1]: ")
    log += (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        + "=" * 60
        + "\ntrain.py FAILED\nRoot Cause (first observed failure):\n[0]:\n  time      : 2025-06-01_10:00:00\n"
        "  host      : node\n  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 12)\n"
    )
    found = diagnosed(log)
    assert (found.cause, found.first and found.first.rank) == ("out-of-memory", "1")


def test_files_of_torchrun_and_plog_belong_together(tmp_path: Path) -> None:
    for rank, error in ((0, WAIT.format(rank=1, second="10")), (1, "")):
        folder = tmp_path / "run" / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text(
            f"[ERROR] 2025-06-25-11:00:01 (PID:{900 + rank}, Device:{rank}, RankID:{rank}) ERR02200 DIST call hccl api failed\n"
            + error
        )
    plog = tmp_path / "ascend" / "debug" / "plog"
    plog.mkdir(parents=True)
    with gzip.open(plog / "plog-901_20250625110000.log.gz", "wt") as file:
        file.write(
            "[ERROR] HCCL(901,python3):2025-06-25-10:59:07.070.463 [hccl_socket.cc:100] [901][Listen] socket type[1], "
            "listen on ip[10.0.0.1] and specific port[16666] fail. Please check the port status\n"
        )
    found = npuify.diagnose([tmp_path])
    assert found.cause == "port-in-use"
    assert found.first is not None and found.first.rank == "1" and found.first.place.file.endswith(".gz")
    assert [story.rank for story in found.ranks] == ["1", "0"]


def test_processes_of_ray_and_vllm_are_told_apart() -> None:
    log = (
        "(Worker_TP0 pid=11) ERROR 03-25 06:14:02 [multiproc_executor.py:880] RuntimeError: FORCE STOP.\n"
        "(Worker_TP1 pid=12) ERROR 03-25 06:14:01 [multiproc_executor.py:880] RuntimeError: HBM MULTI BIT ECC ERROR, error "
        "code is 507054\n"
    )
    found = diagnosed(log)
    assert (found.cause, found.first and found.first.rank) == ("device-fault", "Worker_TP1 pid=12")


def test_a_python_error_of_the_program_itself() -> None:
    log = "".join(
        f"2025-06-25 10:45:0{9 - rank},000 step\n"
        + traceback("/w/train.py", 7, "KeyError: 'labels'", f"[rank{rank}]: ")
        for rank in (0, 1)
    )
    found = diagnosed(log)
    assert (found.cause, found.confidence) == ("script-error", Confidence.LIKELY)
    assert found.exception == "KeyError: 'labels'"
    assert found.title.startswith("KeyError at /w/train.py:7") and "lacks the key" in found.why
    assert found.frame is not None and found.frame.line == 7
    assert found.first is not None and found.first.rank == "1"


def test_a_warning_does_not_hide_the_exception_that_ended_the_program() -> None:
    log = (
        "[W VariableFallbackKernel.cpp:51] Warning: CAUTION: The operator 'aten::isin' is not currently supported on the NPU "
        "backend and will fall back to run on the CPU.\n" + traceback("/w/train.py", 7, "KeyError: 'labels'")
    )
    assert diagnosed(log).cause == "script-error"


def test_the_stack_of_a_crash_on_the_card_is_called_late() -> None:
    log = traceback("/w/train.py", 9, "RuntimeError: npuSynchronizeDevice NPU function error: x, error code is 507015")
    found = diagnosed(log)
    assert found.late_stack and found.cause == "kernel-exception"
    from npuify.diagnosis.text import render_text

    assert "ASCEND_LAUNCH_BLOCKING=1 to find the actual place" in render_text(found)


def test_a_good_run_is_called_good() -> None:
    log = "step 1 loss 0.3\nEpoch 1: no errors, 0 failed\nINFO saved\n" * 50
    found = diagnosed(log)
    assert found.confidence is Confidence.NOTHING and found.cause == ""


def test_unknown_errors_give_the_lines_that_say_most() -> None:
    found = diagnosed("[ERROR] FOO(1,x):2025-01-01-00:00:00.000.000 [x.cc:1] frobnication failed\nINFO ok\n")
    assert found.confidence is Confidence.UNKNOWN
    assert [place.line for place in found.excerpt] == [1]
    assert found.collect


def test_findings_of_the_project_that_belong_to_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "pkg").mkdir(parents=True)
    (project / "pkg" / "model.py").write_text("import torch\n\n\ndef f(x):\n    return x.cuda()\n")
    (project / "train.py").write_text("import torch\nprint(torch.cuda.is_available())\n")
    log = tmp_path / "out.log"
    log.write_text(
        'Traceback (most recent call last):\n  File "/other/place/pkg/model.py", line 5, in f\n    return x.cuda()\n'
        "AssertionError: Torch not compiled with CUDA enabled\n"
    )
    found = npuify.diagnose([log], project=project)
    assert found.cause == "cuda-left"
    assert (found.findings[0].file, found.findings[0].line) == ("pkg/model.py", 5)
    assert any(one.file == "train.py" for one in found.findings)


def test_a_damaged_gz_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.compress((OOM + "\n" + "x\n" * 200000).encode())
    (tmp_path / "a.log.gz").write_bytes(whole[:-40])
    found = npuify.diagnose([tmp_path / "a.log.gz"])
    assert found.cause == "out-of-memory" and any("damaged" in note for note in found.notes)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="does not exist"):
        npuify.diagnose([tmp_path / "none.log"])
    (tmp_path / "image.png").write_bytes(b"x")
    with pytest.raises(NpuifyError, match="looks like a log"):
        npuify.diagnose([tmp_path])


def test_json_has_a_version(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from npuify.cli.app import app

    log = tmp_path / "x.log"
    log.write_text(OOM + "\n")
    done = CliRunner().invoke(app, ["diagnose", str(log), "--format", "json"])
    told = json.loads(done.output)
    assert (done.exit_code, told["version"], told["cause"]) == (1, 1, "out-of-memory")
    log.write_text("all is well\n")
    assert CliRunner().invoke(app, ["diagnose", str(log)]).exit_code == 0
    assert CliRunner().invoke(app, ["diagnose", str(tmp_path / "no")]).exit_code == 2


def test_a_prefix_stands_before_the_first_line_of_a_message_only() -> None:
    """The block of CANN's lines below it is of the same rank, and names the cause more clearly than the code above."""
    found = diagnosed(
        "[rank1]:[E618 02:43:55.606664868 OpParamMaker.cpp:454] NPU function error: call failed, error code is 507011\n"
        "[ERROR] 2026-06-18-02:43:55 (PID:859, Device:1, RankID:-1) ERR00100 PTA call acl api failed\n"
        "[PID: 859] 2026-06-18-02:43:55.862.637 AclNN_Runtime_Error(EZ9903): aclrtLaunchKernelWithHostArgs failed: 507011\n"
        "        The error from device(chipId:1, dieId:0), there is an exception of fftsplus aivector error, core id is 1\n"
        "[rank0]:[E618 02:44:01.1 ProcessGroupHCCL.cpp:1] Watchdog caught collective operation timeout\n"
    )
    assert found.cause == "kernel-exception"
    assert found.first is not None and found.first.rank == "1"
    assert [story.rank for story in found.ranks] == ["1", "0"]


def test_lines_of_a_launcher_are_of_no_rank() -> None:
    found = diagnosed(
        "[rank3]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n"
        "W0618 torch/distributed/elastic Sending process 1 closing signal SIGTERM\n"
    )
    assert found.first is not None and (found.cause, found.first.rank) == ("out-of-memory", "3")


def test_of_two_ranks_at_one_moment_the_clear_one_counts() -> None:
    found = diagnosed(
        "[rank0]: 2026-06-18 02:43:55.100 error code is 507011\n"
        "[rank1]: 2026-06-18 02:43:55.300 Op Cast does not has any binary failed\n"
    )
    assert found.cause == "kernels-missing"
    found = diagnosed(
        "[rank0]: 2026-06-18 02:43:55.100 error code is 507011\n"
        "[rank1]: 2026-06-18 02:44:55.300 Op Cast does not has any binary failed\n"
    )
    assert found.cause == "graph-execution", "one that is first by far counts"


def test_times_with_and_without_their_year_are_compared() -> None:
    stopped = "slurmstepd: error: *** JOB 99 ON n CANCELLED AT 2026-11-20T12:00:00 DUE TO TIME LIMIT ***\n"
    after = (
        "[rank0]:[W1120 12:00:01.331 x.cpp:8] Warning: stopped\n[rank0]: RuntimeError: aborted, error code is 107017\n"
    )
    assert diagnosed(stopped + after).cause == "interrupted"
    before = (
        "[rank0]:[W1120 11:00:01.331 x.cpp:8] Warning: stopped\n[rank0]: RuntimeError: aborted, error code is 107017\n"
    )
    assert diagnosed(before + stopped).cause == "invalid-argument"
