"""Whole logs of the classes: eight ranks with the noise of real runs, the cause in one, what the others say after it."""

from __future__ import annotations

import pytest

from .samples import diagnosed, is_right

NOISE = (
    "/opt/conda/lib/python3.10/site-packages/torch_npu/utils/collect_env.py:58: UserWarning: Warning: The /usr/local/Ascend/ascend-toolkit/latest owner does not match the current owner.",
    '  warnings.warn(f"Warning: The {path} owner does not match the current owner.")',
    "/opt/conda/lib/python3.10/site-packages/torch_npu/contrib/transfer_to_npu.py:301: ImportWarning: ",
    "    The torch.Tensor.cuda and torch.nn.Module.cuda are replaced with torch.Tensor.npu and torch.nn.Module.npu now..",
    "[W compiler_depend.ts:659] Warning: 0Failed to find function aclrtCreateEventExWithFlag (function operator())",
    "[W VariableFallbackKernel.cpp:51] Warning: CAUTION: The operator 'aten::isin.Tensor_Tensor_out' is not currently supported on the NPU backend and will fall back to run on the CPU. This may have performance implications. (function npu_cpu_fallback)",
    "WARNING 11-20 10:01:02 [_custom_ops.py:20] Failed to import from vllm._C with ModuleNotFoundError(\"No module named 'vllm._C'\")",
    "Could not import distributed_fused_adam optimizer from Apex",
)
STEPS = [
    f" iteration {10 * one:8d}/    2000 | elapsed time per iteration (ms): 812.3 | learning rate: 1.0E-05"
    f" | lm loss: 2.{9 - one}31E+00 | loss scale: 1.0 | grad norm: 0.8 |"
    for one in range(1, 6)
]
FAILED = 'Traceback (most recent call last):\n  File "/data/proj/train.py", line 88, in <module>\n    main()\n  File "/data/proj/train.py", line 61, in main\n    loss = step(batch)\n'
WAITED = (
    "RuntimeError: HcclAllreduce error, error code is 9\n"
    "[ERROR] 2026-11-20-10:12:40 (PID:{pid}, Device:{one}, RankID:{one}) ERR02200 DIST call hccl api failed.\n"
    "EI0002: [PID: {pid}] 2026-11-20-10:12:40.100.100 The wait execution of the Notify register times out."
    " Reason: The Notify register has not received the Notify record from remote rank [{rank}]."
)
SIGNALS = {9: "SIGKILL", 11: "SIGSEGV"}
TORCHRUN = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_10:12:05
  host      : node1
  rank      : %d (local_rank: %d)
  exitcode  : %d (pid: 4103)
  error_file: <N/A>
  traceback : %s
============================================================"""


def log(
    cause: str,
    *,
    rank: int = 3,
    others: str = "hccl",
    end: int | None = None,
    steps: bool = True,
    prefixed: bool = True,
) -> str:
    """A run of eight ranks in one file.

    Args:
        cause: what the failing rank says.
        rank: which it is.
        others: what the other ranks say after it: ``hccl`` they wait in vain, ``sigterm`` torchrun ends them, ``none``.
        end: the exit code in torchrun's table; None: there is no table.
        steps: whether it trained before.
        prefixed: whether torch's prefix stands before the cause.
    """
    lines = [f"[rank{one}]: {noise}" if one % 2 else noise for one in range(8) for noise in NOISE]
    lines += STEPS if steps else []
    lines.append("2026-11-20 10:12:05,101 INFO trainer.py:20: next step")
    lines += [f"[rank{rank}]: {line}" if prefixed else line for line in cause.strip("\n").split("\n")]
    for one in range(8):
        if one == rank:
            continue
        if others == "hccl":
            waited = FAILED + WAITED.format(pid=4100 + one, one=one, rank=rank)
            lines += [f"[rank{one}]: {line}" for line in waited.split("\n")]
        elif others == "sigterm":
            lines.append(
                f"W1120 10:12:07.{one} torch/distributed/elastic/multiprocessing/api.py:900] Sending process {4100 + one} closing signal SIGTERM"
            )
    if end is not None:
        ended = (
            f"Signal {-end} ({SIGNALS[-end]}) received by PID 4103"
            if end < 0
            else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
        )
        lines.append(TORCHRUN % (rank, rank, end, ended))
    return "\n".join(lines) + "\n"


IN_PACKAGE = '  File "/opt/conda/lib/python3.10/site-packages/%s", line 12, in f\n    g()\n'
LOGS = [
("cuda-only-package", log(FAILED + IN_PACKAGE % "transformers/modeling_utils.py"+"ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed.", others="sigterm", end=1)),
("cuda-only-package", log(FAILED + '  File "/cache/huggingface/modules/transformers_modules/m/modeling_m.py", line 9, in <module>\n    from flash_attn import flash_attn_func\nModuleNotFoundError: No module named \'flash_attn\'', others="sigterm", end=1, steps=False)),
("cuda-only-package", log(FAILED + "ImportError: /opt/conda/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-aarch64-linux-gnu.so: undefined symbol: _ZN3c104cuda14ExchangeDeviceEa", others="sigterm", end=1, steps=False)),
("cuda-only-package", log(FAILED + IN_PACKAGE % "megatron/core/extensions/transformer_engine.py"+"ModuleNotFoundError: No module named 'transformer_engine'", others="sigterm", end=1, steps=False)),
("cuda-only-package", log(FAILED + IN_PACKAGE % "deepspeed/ops/op_builder/builder.py"+"deepspeed.ops.op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)", end=1)),
("triton-conflict", log(FAILED + "AttributeError: module 'triton' has no attribute 'language'", others="sigterm", end=1, steps=False)),
("triton-conflict", log(FAILED + IN_PACKAGE % "triton/runtime/driver.py"+"RuntimeError: 0 active drivers ([]). There should only be one.", others="sigterm", end=1)),
("package-without-npu", log(FAILED + IN_PACKAGE % "mmcv/ops/nms.py"+"RuntimeError: nms_impl: implementation for device npu:0 not found.", end=1)),
("plugin-not-loaded", log(FAILED + IN_PACKAGE % "paddle/device/__init__.py"+"ValueError: The device must be a string which is like 'cpu', 'gpu', 'gpu:x', 'xpu', 'xpu:x', 'npu', 'npu:x or ipu", others="none", steps=False)),
("no-npu-branch", log(FAILED + IN_PACKAGE % "somelib/device.py"+"ValueError: device 'npu' not supported, expected one of ['cpu', 'cuda', 'mps']", others="sigterm", end=1)),
("usage", log("usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --use-flash-attn", rank=0, others="sigterm", end=2, steps=False)),
("interrupted", log("^C"+FAILED + "KeyboardInterrupt", rank=0, others="none", prefixed=False)),
("interrupted", log("slurmstepd: error: *** STEP 77.0 ON node1 CANCELLED AT 2026-11-20T10:12:05 DUE TO TIME LIMIT ***\nsrun: Job step aborted: Waiting up to 32 seconds for job step to finish.", others="sigterm", prefixed=False)),
("interrupted", log(FAILED + "KeyboardInterrupt", rank=0)),
("interrupted", log("W1120 10:12:05.1 torch/distributed/elastic/agent/server/api.py:753] Received 2 death signal, shutting down workers\n" + FAILED + "KeyboardInterrupt", rank=0)),
("nccl-left", log(FAILED + IN_PACKAGE % "torch/distributed/distributed_c10d.py"+"RuntimeError: Distributed package doesn't have NCCL built in", rank=0, others="sigterm", end=1, steps=False)),
("impossible-size", log(FAILED + "RuntimeError: NPU out of memory. Tried to allocate 8589934592.00 GiB (NPU 3; 60.97 GiB total capacity; 10.00 GiB already allocated; 40.00 GiB free)", end=1)),
("overflow", log("\n".join(one.replace("lm loss: 2.", "lm loss: nan ").replace("grad norm: 0.8", "grad norm: nan") for one in STEPS * 3), others="none", prefixed=False)),
("missing-file", log(FAILED + "FileNotFoundError: [Errno 2] No such file or directory: '/data/tokens/part-03.bin'", end=1)),
("none", log("Training completed. Total time 3600 s\nException ignored in: <function Pool.__del__ at 0xffff>\nTraceback (most recent call last):\n  File \"/opt/conda/lib/python3.10/multiprocessing/pool.py\", line 265, in __del__\nAttributeError: 'NoneType' object has no attribute 'util'\n[ERROR] TBE(3391,python):2026-11-20-10:12:06.100.200 [multiprocessing]TBE Subprocess[task_distribute] raise error[], main process disappeared!", others="none", prefixed=False, rank=0)),
("killed", log("/usr/bin/bash: line 1:  4103 Killed                  python train.py", others="hccl", end=-9, prefixed=False)),
("host-memory", log("[81231.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python,pid=4103,uid=0\n[81231.2] Memory cgroup out of memory: Killed process 4103 (python) total-vm:98765432kB, anon-rss:900kB", others="hccl", end=-9, prefixed=False)),
("driver-not-visible", 'docker: Error response from daemon: error gathering device information while adding custom device "/dev/davinci3": no such file or directory.\n'),
("device-start", log(FAILED + "RuntimeError: Initialize:torch_npu/csrc/core/npu/sys_ctrl/npu_sys_ctrl.cpp:217 NPU function error: c10_npu::SetDevice(device_id_), error code is 507033\n[ERROR] 2026-11-20-10:12:05 (PID:4103, Device:3, RankID:3) ERR00100 PTA call acl api failed\n[Error]: The device retain error.", others="sigterm", end=1, steps=False)),
("combined-task", log(FAILED + "RuntimeError: npuSynchronizeDevice:torch_npu/csrc/core/npu/NPUStream.cpp:435 NPU function error: aclrtSynchronizeDevice, error code is 507049")),
("network-link", log(FAILED + "RuntimeError: npuSynchronizeDevice:torch_npu/csrc/core/npu/NPUStream.cpp:435 NPU function error: aclrtSynchronizeDevice, error code is 507057")),
("port-in-use", log(FAILED + "RuntimeError: create:torch_npu/csrc/distributed/HCCLUtils.hpp:43 HCCL function error: HcclGetRootInfo(&hcclID), error code is 7\n[ERROR] 2026-11-20-10:12:05 (PID:4103, Device:3, RankID:3) ERR02200 DIST call hccl api failed.\nEI0019: [PID: 4103] 2026-11-20-10:12:05.100.100 The IP address and port have been bound already. Reason: port 60000 is in use", steps=False)),
("script-error", log(FAILED + '  File "/data/proj/data.py", line 40, in __getitem__\n    return row["labels"]\nKeyError: \'labels\'', end=1)),
("script-error", log(FAILED + "IndexError: list index out of range", rank=5)),
("file-permission", log(FAILED + "PermissionError: [Errno 13] Permission denied: '/data/out/checkpoint-10'", rank=0, end=1)),
("damaged-file", log(FAILED + IN_PACKAGE % "json/decoder.py"+"json.decoder.JSONDecodeError: Expecting ',' delimiter: line 3 column 9 (char 40)", rank=2, end=1)),
("cuda-machine", log("node1:12:99 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"+FAILED + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity)", rank=0, others="none")),
("kernel-exception", log(FAILED + "RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current working operator name is EmbeddingDenseGrad.\n[ERROR] 2026-11-20-10:12:05 (PID:4103, Device:3, RankID:3) ERR00100 PTA call acl api failed.\nEZ9999: [PID: 4103] 2026-11-20-10:12:05.100.100 The error from device(chipId:3, dieId:0), serial number is 1, there is an aivec error exception, core id is 3, error code = 0x800000, dump info: pc start: 0x1, current: 0x2")),
("library-path", log(FAILED + "ImportError: libGL.so.1: cannot open shared object file: No such file or directory", others="sigterm", end=1, steps=False)),
("no-network", log(FAILED + IN_PACKAGE % "transformers/utils/hub.py"+"OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files and it looks like org/m is not the path to a directory containing a file named config.json.", rank=1, end=1, steps=False)),
("crash", log("Fatal Python error: Segmentation fault\n\nCurrent thread 0x0000ffff (most recent call first):\n  File \"/data/proj/ops.py\", line 7 in call", end=-11)),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "text"), LOGS, ids=[f"{number}-{cause}" for number, (cause, _) in enumerate(LOGS)])
def test_the_cause_is_found_among_ranks_and_noise(cause: str, text: str) -> None:
    found = diagnosed(text)
    assert is_right({"cause": cause}, found), (found.cause, found.title)


def test_the_rank_that_failed_is_named() -> None:
    found = diagnosed(log(FAILED + "IndexError: list index out of range", rank=5))
    assert found.cause == "script-error"
    assert next(one.rank for one in found.ranks if one.said == "first cause") == "5"
