"""What ``npuify explain`` says of packages, of messages, and of names that are written nearly right."""

from __future__ import annotations

import pytest

import npuify
from npuify.model import NpuifyError


@pytest.mark.parametrize(
    ("what", "kind", "said"),
    [
        ("flash_attn", "package", "npu_fusion_attention"),
        ("Flash-Attn", "package", "has no form for NPUs"),
        ("apex", "package", "has another build for NPUs"),
        ("vllm", "set of versions", "vllm-ascend"),
        ("deepspeed", "stack", "NPU"),
        ("static TLS block", "message", "preload that libgomp"),
        ("ImportError: /x/libgomp.so.1: cannot allocate memory in static TLS block", "message", "preload that libgomp"),
        ("Cannot re-initialize NPU in forked subprocess", "message", "spawn"),
    ],
)
def test_packages_and_messages(what: str, kind: str, said: str) -> None:
    found = npuify.explain(what)
    assert found.kind == kind and found.source
    assert said in "\n".join(found.text)


@pytest.mark.parametrize(
    ("what", "meant"),
    [
        ("torch.cuda.memory_sumary", "torch.cuda.memory_summary"),
        ("EI00006", "EI0006"),
        ("NCCL_DEBG", "NCCL_DEBUG"),
        ("flash_atn", "flash_attn"),
        ("memory_sumary", "torch_npu.npu.memory_summary"),
        ("stress_detect", "torch_npu.npu.stress_detect"),
        ("npu_fusion_atention", "torch_npu.npu_fusion_attention"),
        ("ASCEND_RT_VISIBLE_DEVICE", "ASCEND_RT_VISIBLE_DEVICES"),
        ("NPU30", "NPU301"),
        ("NPU3O1", "NPU301"),
        ("nccl-bakend", "nccl-backend"),
    ],
)
def test_a_typing_error_is_answered_with_the_name_that_was_meant(what: str, meant: str) -> None:
    with pytest.raises(NpuifyError, match=f"did you mean {meant}"):
        npuify.explain(what)


@pytest.mark.parametrize(
    ("what", "kind", "said"),
    [
        ("queue.Empty", "exception", "process or thread at its other end"),
        ("No module named 'apex.optimizers'", "package", "apex"),
        ("flash-attn", "package", "CUDA kernels only"),
    ],
)
def test_exceptions_and_messages_about_packages(what: str, kind: str, said: str) -> None:
    found = npuify.explain(what)
    assert found.kind == kind and said in "\n".join(found.text)


@pytest.mark.parametrize(
    ("what", "kind", "said"),
    [
        ("torch.compile", "rules", "NPU403 compile-backend: "),
        ("torch.jit.script", "rules", "NPU401 jit-script: "),
        ("torch.channels_last", "rules", "NPU402"),
        ("deepspeed.profiling.flops_profiler.get_model_profile", "package", "deepspeed"),
    ],
)
def test_what_a_finding_is_about_is_known(what: str, kind: str, said: str) -> None:
    found = npuify.explain(what)
    assert found.kind == kind and said in "\n".join(found.text)


@pytest.mark.parametrize(
    ("what", "kind", "said"),
    [
        ("nvcc", "program", "no nvcc"),
        ("dcgmi", "program", "npu-smi info"),
        ("Ascend910B3", "chip", "Atlas A2"),
        ("310P3", "chip", "does not compute in bfloat16"),
        ("910B", "chip", "first-generation"),
        ("paddlepaddle", "framework", "paddle-custom-npu"),
        ("tensorflow", "framework", "adapter"),
        ("error code 507035", "error code", "VECTOR_CORE"),
        ("DataParallel", "rules", "NPU319"),
        ("hccl", "rules", "NPU301"),
        ("aclnnAdd", "operator of CANN", "call it: add"),
        ("aclnnInplaceCopyGetWorkspaceSize", "operator of CANN", "call it: copy_"),
        ("aclnnFlashAttentionScore", "operator of CANN", "torch_npu.npu_fusion_attention"),
        ("MatMulV2", "operator of CANN", "torch_npu.npu_linear"),
        ("attention-backend", "vLLM option", "attention"),
        ("attention_backend", "vLLM option", "attention"),
        ("quantization", "rules", "NPU937"),
    ],
)
def test_what_is_no_name_of_pythons_is_known_too(what: str, kind: str, said: str) -> None:
    found = npuify.explain(what)
    assert found.kind == kind and said in "\n".join(found.text)


@pytest.mark.parametrize("what", ["torch.zzzz", "own._C.forward", "zzzzqq", "error", "failed", "aclnnZzzz", "zz-zz"])
def test_nothing_is_made_up(what: str) -> None:
    with pytest.raises(NpuifyError) as raised:
        npuify.explain(what)
    assert "nothing is known" in str(raised.value)


def test_a_switch_without_effect_is_not_called_missing() -> None:
    found = npuify.explain("torch.backends.cudnn.benchmark")
    assert {row.note for row in found.releases} == {"no counterpart; the switch is there in every build of torch"}


@pytest.mark.parametrize(
    "name", ["torch._fused_adamw_", "torch.ops.aten._fused_adamw_", "torch.ops.aten._fused_adamw_.default"]
)
def test_an_operator_by_the_names_that_torch_binds_it_to(name: str) -> None:
    found = npuify.explain(name)
    assert found.kind == "operator"
    assert found.releases == npuify.explain("aten::_fused_adamw_").releases


def test_a_name_of_torch_that_is_no_operator_stays_unknown() -> None:
    for name in ("torch.no_such_operator", "torch.ops.aten.no_such_operator", "torch.nn._fused_adamw_"):
        with pytest.raises(NpuifyError):
            npuify.explain(name)
