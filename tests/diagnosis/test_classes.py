"""The classes of failures that the NPU has no part in, and runs that did not fail."""

from __future__ import annotations

import builtins

import pytest

from npuify.diagnosis.model import Confidence
from npuify.diagnosis.text import render_text

from .samples import diagnosed

HEAD = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 40, in main\n    run()\n'


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        # packages
        (HEAD + "ModuleNotFoundError: No module named 'transformer_engine'\n", "cuda-only-package"),
        (HEAD + "ModuleNotFoundError: No module named 'flash_attn.bert_padding'\n", "cuda-only-package"),
        (HEAD + "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed.\n", "cuda-only-package"),
        (HEAD + "ImportError: /e/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n", "cuda-only-package"),
        (HEAD + "deepspeed.ops.op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)\n", "cuda-only-package"),
        (HEAD + "RuntimeError: None of the available devices `available_devices = {'npu', 'cpu'}` are supported by the bitsandbytes version you have installed\n", "cuda-only-package"),
        (HEAD + '  File "/e/lib/python3.10/site-packages/apex/amp/frontend.py", line 3, in initialize\nRuntimeError: something inside\n', "cuda-only-package"),
        (HEAD + '  File "/e/lib/python3.10/site-packages/transformer_engine/common/__init__.py", line 3, in f\n  File "/e/lib/python3.10/subprocess.py", line 420, in check_output\nsubprocess.CalledProcessError: Command \'ldconfig\' returned non-zero exit status 1.\n', "cuda-only-package"),
        (HEAD + "RuntimeError: xFormers wasn't build with CUDA support\n", "cuda-only-package"),
        (HEAD + "AssertionError: Transformer Engine requires CUDA\n", "cuda-only-package"),
        (HEAD + "RuntimeError: PyTorch is not linked with support for npu devices\n", "torch-npu-missing"),
        (HEAD + "AssertionError: device must be cuda or cpu, got npu:0\n", "no-npu-branch"),
        (HEAD + "AttributeError: module 'triton' has no attribute 'backends'\n", "triton-conflict"),
        (HEAD + "ImportError: cannot import name 'BaseSchedulerNode' from 'torch._inductor.scheduler' (/e/torch/_inductor/scheduler.py)\n", "version-mismatch"),
        (HEAD + "ModuleNotFoundError: No module named 'mmcv._ext'\n", "package-without-npu"),
        ("ERROR: No matching distribution found for torch-npu==2.9.9\n", "no-such-version"),
        ('CMake Error at CMakeLists.txt:12 (find_package):\n  Could not find a package configuration file provided by "torch_npu"\n', "build-setup"),
        (HEAD + "ValueError: Unsupported device type: npu\n", "no-npu-branch"),
        (HEAD + "ModuleNotFoundError: No module named 'einops'\n", "missing-package"),
        # the user's own
        ("usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --learning_rat 3\n", "usage"),
        (HEAD + "KeyboardInterrupt\n", "interrupted"),
        ("W torch/distributed/elastic: Received 15 death signal, shutting down workers\nW Sending process 41 closing signal SIGTERM\n", "interrupted"),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT ***\n", "interrupted"),
        (HEAD + "RuntimeError: NPU out of memory. Tried to allocate 17179869184.00 GiB (NPU 0; 60.96 GiB total capacity)\n", "impossible-size"),
        ("{'loss': 2.1, 'epoch': 0.1}\n{'loss': nan, 'grad_norm': nan, 'epoch': 0.2}\n", "overflow"),
        ("2026-01-01 10:00:00 INFO train.py:5: iter 7 step_loss=nan\n", "overflow"),
        ("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 2, reducing to 1\n", "overflow"),
        (HEAD + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total)\n", "cuda-machine"),
        ("node1:12:99 [0] NCCL WARN x\n" + HEAD + "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251, unhandled cuda error\n", "cuda-machine"),
        (HEAD + "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!\n", "nccl-left"),
        # the kernel, devices, codes
        ("[launch.py:316:sigkill_handler] ['python', 'a.py'] exits with return code = -9\n", "killed"),
        ("command terminated with exit code 137\n", "killed"),
        ("[81231.1] Memory cgroup out of memory: Killed process 4121 (python3) total-vm:98765432kB\n", "host-memory"),
        ('docker: Error response from daemon: error gathering device information while adding custom device "/dev/davinci7": no such file or directory.\n', "driver-not-visible"),
        ("aclrtSetDevice failed, ret=507033\n", "device-start"),
        ("RuntimeError: npuSynchronizeDevice error code is 507049\n", "combined-task"),
        ("RuntimeError: npuSynchronizeDevice error code is 507057\n", "network-link"),
        # Python's own
        (HEAD + "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.json'\n", "missing-file"),
        (HEAD + "PermissionError: [Errno 13] Permission denied: '/out'\n", "file-permission"),
        (HEAD + "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n", "damaged-file"),
        (HEAD + "TypeError: forward() got an unexpected keyword argument 'x'\n", "script-error"),
    ],
)  # fmt: skip
def test_a_class_of_failures(log: str, cause: str) -> None:
    found = diagnosed(log)
    assert found.cause == cause
    assert found.confidence is not Confidence.UNKNOWN and found.fix


BUILT_IN = sorted(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)
)


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_exception_of_python_is_answered_with_kind_place_and_reason(name: str) -> None:
    found = diagnosed(HEAD + f"{name}: some words\n")
    assert found.exception == f"{name}: some words" and found.why and found.fix
    assert found.frame is not None and found.frame.line == 40
    assert found.cause != "script-error" or found.title.startswith(f"{name} at /home/user/train.py:40: ")


@pytest.mark.parametrize(
    ("exception", "cause"),
    [
        # Names without the words that lines are searched for.
        ("queue.Empty", "peer-ended"),
        ("StopIteration", "script-error"),
        ("gzip.BadGzipFile: Not a gzipped file", "damaged-file"),
        ("torch._dynamo.exc.Unsupported: call_function BuiltinVariable", "operator-compile"),
        ("mine.things.Unhappy: no more tea", "script-error"),
        # Numbers of the system say more than the kind.
        ("OSError: [Errno 122] Disk quota exceeded", "disk-full"),
        ("OSError: [Errno 99] Cannot assign requested address", "link-setup"),
        ("Exception: [Errno 116] Stale file handle", "storage-failed"),
        # Packages' own.
        ("yaml.constructor.ConstructorError: could not determine a constructor for the tag", "damaged-file"),
        ("jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant", "script-error"),
        ("struct.error: unpack requires a buffer of 4 bytes", "damaged-file"),
        ("requests.exceptions.ReadTimeout: read timed out", "no-network"),
    ],
)
def test_an_exception_is_known_by_its_kind_or_number(exception: str, cause: str) -> None:
    log = HEAD + exception + "\n"
    found = diagnosed(log)
    assert (found.cause, found.exception) == (cause, exception)
    # Also where pieces of the log end between the frame and the exception.
    for piece in (40, 97, len(log) - 3):
        assert diagnosed(log, piece=piece).cause == cause


def test_a_traceback_that_rich_draws_has_its_place() -> None:
    log = (
        "╭─────────── Traceback (most recent call last) ────────────╮\n"
        "│ /home/user/train.py:40 in main                           │\n"
        "│                                                          │\n"
        "│ ❱ 40     run()                                           │\n"
        "╰──────────────────────────────────────────────────────────╯\n"
        "KeyError: 'labels'\n"
    )
    found = diagnosed(log)
    assert found.exception == "KeyError: 'labels'"
    assert found.frame is not None and (found.frame.file, found.frame.line) == ("/home/user/train.py", 40)


def test_a_traceback_of_a_notebook_has_its_place() -> None:
    log = "File /home/user/train.py:40, in main()\n     39 try:\n---> 40     run()\n\nKeyError: 'labels'\n"
    found = diagnosed(log)
    assert found.frame is not None and (found.frame.file, found.frame.line) == ("/home/user/train.py", 40)


def test_the_package_that_raised_is_named() -> None:
    log = HEAD + '  File "/e/lib/python3.10/site-packages/einops/einops.py", line 5, in f\n    raise\n'
    found = diagnosed(log + "einops.Unhappy: no such axis\n")
    assert "The package einops raised it" in found.why and found.frame is not None and found.frame.line == 40


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("EI0099: [PID: 7] 2026-01-01-00:00:00.000.000 Something of a later release.", "link-setup"),
        ("EL0042: [PID: 7] Something of a later release.", "driver-internal"),
        ("EE9123: [PID: 7] Inner error.", "internal"),
        ("EZ0555: [PID: 7] Value of x is wrong.", "invalid-argument"),
        ("RuntimeError: call failed, error code is 107099", "invalid-argument"),
        ("RuntimeError: call failed, error code is 507099", "internal"),
        ("RuntimeError: call aclnnX failed, error code is 561555", "operator-internal"),
    ],
)
def test_a_code_without_a_row_gets_the_answer_of_its_family(line: str, cause: str) -> None:
    assert diagnosed(line + "\n").cause == cause


def test_what_only_looks_like_a_code_is_none() -> None:
    found = diagnosed("[ERROR] no user EA1234 in group E51234\n")
    assert found.cause == ""


FINISHED = """\
{'train_runtime': 812.3, 'train_loss': 1.91, 'epoch': 3.0}
/e/lib/python3.10/site-packages/torch/x.py:12: UserWarning: TypedStorage is deprecated
[ERROR] TBE Subprocess[task_distribute] raise error[], main process disappeared!
Exception ignored in: <function Pool.__del__ at 0x7f0000000000>
Traceback (most recent call last):
  File "/usr/lib/python3.10/multiprocessing/pool.py", line 271, in __del__
    self._change_notifier.put(None)
AttributeError: 'NoneType' object has no attribute 'dumps'
Process ForkServerProcess-2:
Traceback (most recent call last):
  File "/usr/local/Ascend/python/site-packages/te_fusion/parallel_compilation.py", line 9, in exec_compilation_task
    raise
EOFError
"""


def test_what_a_good_run_prints_at_its_end_is_no_failure() -> None:
    found = diagnosed(FINISHED)
    assert (found.confidence, found.cause, found.exception) == (Confidence.NOTHING, "", "")
    assert [event.name for event in found.noise] == ["plain-warning", "tbe-exit", "exception-ignored"]
    told = render_text(found)
    assert told.startswith("No failure found") and "it is not why it ended" in told


def test_the_noise_does_not_hide_a_failure() -> None:
    found = diagnosed(HEAD + "KeyError: 'labels'\n" + FINISHED)
    assert found.cause == "script-error" and found.exception == "KeyError: 'labels'"


def test_an_ordinary_exception_on_one_rank_comes_before_what_the_others_waited_for() -> None:
    wait = "EI0006: 2025-06-25-11:15:00.270.506 Getting socket times out. Reason: Remote Rank did not send the data in time."
    failed = "".join(f"[rank5]: {line}\n" for line in (HEAD + "IndexError: list index out of range").splitlines())
    found = diagnosed("".join(f"[rank{rank}]: {wait}\n" for rank in range(5)) + failed)
    assert found.cause == "script-error" and found.first is not None and found.first.rank == "5"
    taken = "EI0019: 2025-06-25-11:13:00.000.000 The IP address and port have been bound already."
    found = diagnosed("".join(f"[rank{rank}]: {wait}\n" for rank in (0, 1, 2)) + f"[rank3]: {taken}\n")
    assert found.cause == "port-in-use" and found.first is not None and found.first.rank == "3"


def test_a_file_that_is_missing_on_one_node_only_is_told_as_that() -> None:
    missing = HEAD + "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.json'"
    log = "".join(f"[rank1]: {line}\n" for line in missing.splitlines())
    log += "[rank0]: EI0002: The wait execution of the Notify register times out.\n"
    found = diagnosed(log)
    assert found.cause == "missing-file"
    assert any("Only rank 1 misses it" in note for note in found.notes)


def test_the_answer_names_the_counterpart_of_the_package() -> None:
    found = diagnosed(HEAD + "ModuleNotFoundError: No module named 'flash_attn'\n")
    assert "npu_fusion_attention" in found.fix


def test_clean_up_after_waiting_in_vain_is_not_the_cause() -> None:
    log = "EI0002: The wait execution of the Notify register times out.\n" + HEAD + "AttributeError: x has no y\n"
    assert diagnosed(log).cause == "collective-timeout"


TABLE = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
train.py FAILED
Failures:
[1]:
  rank      : 0 (local_rank: 0)
  exitcode  : -9 (pid: 14689)
  traceback : Signal 9 (SIGKILL) received by PID 14689
Root Cause (first observed failure):
[0]:
  rank      : 1 (local_rank: 1)
  exitcode  : {code} (pid: 14690)
"""


def test_what_torchrun_killed_after_another_rank_had_failed_is_a_consequence() -> None:
    assert diagnosed(TABLE.format(code=1)).cause == "peer-ended"
    assert diagnosed(TABLE.format(code=-9)).cause == "killed"
