"""The most frequent failures of vLLM's plug-in and of Paddle's, each as a log in words of the format."""

from __future__ import annotations

import pytest

from .samples import diagnosed

VLLM = {
    # vllm-project/vllm-ascend#540, #262, #130
    "no platform": (
        "RuntimeError: Failed to infer device type, please set VLLM_LOGGING_LEVEL=DEBUG",
        "plugin-not-loaded",
    ),
    "no NNAL": ("OSError: libatb.so: cannot open shared object file: No such file or directory", "nnal-missing"),
    "no CANN": (
        (
            "ImportError: libascendcl.so: cannot open shared object file: No such file or directory\n"
            "RuntimeError: Failed to infer device type"
        ),
        "cann-not-loaded",
    ),
    # vllm 0.23.0, run on a machine without a card
    "an empty device": ("ValueError: Device string must not be empty", "plugin-not-loaded"),
    # #855, #4917, #8286
    "two torches in one call": (
        (
            "ERROR: Cannot install vllm==0.11.0 and vllm-ascend==0.11.0 because these package versions have conflicting "
            "dependencies.\nThe conflict is caused by:\n    vllm 0.11.0 depends on torch==2.8.0"
        ),
        "vllm-wheels-conflict",
    ),
    "torch replaced": (
        "vllm-ascend 0.9.1 requires torch==2.5.1, but you have torch 2.8.0 which is incompatible.",
        "vllm-wheels-conflict",
    ),
    "torch of another build": (
        "ImportError: site-packages/torch_npu/lib/libtorch_npu.so: undefined symbol: _ZNK5torch8autograd4Node4nameEv",
        "version-mismatch",
    ),
    # #4502, #3133
    "forked": (
        (
            "RuntimeError: Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the "
            "'spawn' start method"
        ),
        "forked",
    ),
    # #6800, #195, #6603
    "quantized for CUDA": (
        "  Value error, awq quantization is currently not supported in npu. [type=value_error]",
        "quantization-of-cuda",
    ),
    "FP8": ("ValueError: fp8 quantization is currently not supported in npu.", "quantization-of-cuda"),
    # the plug-in's questions and answers
    "streams": (
        (
            "EL0009: [PID: 88] Failed to apply for stream resources\n"
            "RuntimeError: stream resources are insufficient, error code is 207008"
        ),
        "resources",
    ),
    "memory": (
        "torch.OutOfMemoryError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity)",
        "out-of-memory",
    ),
    "a cache that does not fit": (
        (
            "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
            "which is larger than the available KV cache memory (9.12 GiB)."
        ),
        "out-of-memory",
    ),
    "built from source": (
        (
            "packaging.version.InvalidVersion: Invalid version: 'dev'\n\n"
            "During handling of the above exception, another exception occurred:\n\n"
            "ValueError: Invalid vllm version dev found. A dev version of vllm is installed probably."
        ),
        "version-mismatch",
    ),
    # #1209, #415
    "CUDA's part": ("ModuleNotFoundError: No module named 'vllm._C'", "cuda-only-package"),
    "another vLLM": (
        (
            '  File "/venv/lib/python3.10/site-packages/vllm_ascend/worker/worker_v1.py", line 30, in <module>\n'
            "    from vllm.v1.worker.gpu_input_batch import LogprobsTensors\n"
            "ImportError: cannot import name 'LogprobsTensors' from 'vllm.v1.worker.gpu_input_batch' (gpu_input_batch.py)"
        ),
        "version-mismatch",
    ),
    "a plug-in without its compiled part": (
        "ModuleNotFoundError: No module named 'vllm_ascend.vllm_ascend_C'",
        "package-without-npu",
    ),
    "two Tritons": ("RuntimeError: 0 active drivers ([]). There should only be one.", "triton-conflict"),
    "no triton-ascend": ("ModuleNotFoundError: No module named 'triton.language.extra.cann'", "triton-conflict"),
    "Ray without NPUs": (
        "ERROR ray_utils.py:321] No available node types can fulfill resource request {'NPU': 1.0, 'node:10.0.0.1': 0.001}.",
        "not-scheduled",
    ),
    "another machine": (
        "[ERROR] HCCL: EI0006: Getting socket times out. Reason: The remote does not initiate a connect request.",
        "link-setup",
    ),
    # #1451, #933
    "heads of MLA": (
        (
            "AssertionError: The allowed number of queries per kv when enabling both MLA and Graph mode only support "
            "{32, 64, 128}"
        ),
        "invalid-argument",
    ),
    # Ascend/pytorch#99
    "NNAL of another CANN": (
        "OSError: /usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1/lib/libtbe_adapter.so: undefined symbol: _ZN3Mki2DlC1E",
        "version-mismatch",
    ),
}
PADDLE = {
    # PaddlePaddle/PaddleCustomDevice#1214, PaddlePaddle/PaddleOCR#13647
    "the first operator": (
        "OSError: (External)  ACL error, the error code is : 500001.  (at /work/backends/npu/npu_op_runner.cc:553)",
        "compiler-setup",
    ),
    # PaddlePaddle/PaddleCustomDevice#573
    "an operator": ("E40021: Failed to compile Op [hard_swish]. (optype: [HardSwish])", "operator-compile"),
    # PaddlePaddle/Paddle#72458
    "aclInit": (
        "RuntimeError: (PreconditionNotMet) aclInit failed, ACL error, the error code is : 507008",
        "device-start",
    ),
    # PaddlePaddle/PaddleCustomDevice#2452
    "a plug-in for another CANN": (
        (
            "ValueError: (InvalidArgument) Fail to open library: paddle_custom_device/libpaddle-custom-npu.so with error: "
            "/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1/lib/libtbe_adapter.so: undefined symbol: _ZN3Mki2DlC1E"
        ),
        "version-mismatch",
    ),
    # PaddlePaddle/Paddle#74020
    "a plug-in for another Paddle": (
        (
            "ValueError: (InvalidArgument) Fail to open library: libpaddle-custom-npu.so with error: libpaddle-custom-npu.so: "
            "undefined symbol: _ZN3phi17KernelArgsParseFnE"
        ),
        "version-mismatch",
    ),
    # PaddlePaddle/PaddleCustomDevice: backends/npu/README.md
    "libgomp": (
        "ImportError: paddlepaddle.libs/libgomp-d22c30c5.so.1.0.0: cannot allocate memory in static TLS block",
        "static-tls",
    ),
}


@pytest.mark.parametrize("framework", [VLLM, PADDLE], ids=["vLLM", "Paddle"])
def test_each_is_named(framework: dict[str, tuple[str, str]]) -> None:
    wrong = []
    for name, (text, cause) in framework.items():
        found = diagnosed(f"INFO starting\n{text}\n")
        if found.cause != cause:
            wrong.append(f"{name}: {found.cause}, not {cause}")
    assert wrong == []
