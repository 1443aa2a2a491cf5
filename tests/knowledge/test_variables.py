"""Values of environment variables: units, order and limits."""

from __future__ import annotations

import re

import pytest

from npuify.knowledge import environment
from npuify.knowledge.settings.commands import commands
from npuify.knowledge.settings.frameworks import setting_fact, setting_facts
from npuify.knowledge.settings.variables import fact_of, renamed, translate
from npuify.model import Safety

SAFE, REVIEW = Safety.SAFE, Safety.REVIEW

TRANSLATED = [
    ("CUDA_VISIBLE_DEVICES", "0,1", "ASCEND_RT_VISIBLE_DEVICES", None, SAFE),
    ("CUDA_VISIBLE_DEVICES", "0, 1", "ASCEND_RT_VISIBLE_DEVICES", "0,1", SAFE),
    ("CUDA_VISIBLE_DEVICES", "3,1", "ASCEND_RT_VISIBLE_DEVICES", "1,3", REVIEW),
    ("CUDA_VISIBLE_DEVICES", "1,1", "ASCEND_RT_VISIBLE_DEVICES", "1", REVIEW),
    ("CUDA_VISIBLE_DEVICES", "-1", "ASCEND_RT_VISIBLE_DEVICES", "", SAFE),
    ("CUDA_VISIBLE_DEVICES", "", "ASCEND_RT_VISIBLE_DEVICES", None, SAFE),
    ("CUDA_VISIBLE_DEVICES", None, "ASCEND_RT_VISIBLE_DEVICES", None, SAFE),
    ("CUDA_VISIBLE_DEVICES", "GPU-1f2e", "", None, SAFE),
    ("NVIDIA_VISIBLE_DEVICES", "0-3,5", "ASCEND_VISIBLE_DEVICES", None, SAFE),
    ("NVIDIA_VISIBLE_DEVICES", "all", "", None, SAFE),
    ("NCCL_BUFFSIZE", "4194304", "HCCL_BUFFSIZE", "4", REVIEW),
    ("NCCL_BUFFSIZE", "4194305", "HCCL_BUFFSIZE", "5", REVIEW),
    ("NCCL_BUFFSIZE", "4M", "", None, SAFE),
    ("NCCL_IB_TIMEOUT", "19", "HCCL_RDMA_TIMEOUT", None, SAFE),
    ("NCCL_IB_TIMEOUT", "22", "HCCL_RDMA_TIMEOUT", "20", REVIEW),
    ("NCCL_IB_TIMEOUT", "2", "HCCL_RDMA_TIMEOUT", "5", REVIEW),
    ("NCCL_IB_RETRY_CNT", "13", "HCCL_RDMA_RETRY_CNT", "7", REVIEW),
    ("NCCL_IB_TC", "106", "", None, SAFE),
    ("NCCL_IB_TC", "136", "HCCL_RDMA_TC", None, SAFE),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", "HCCL_ASYNC_ERROR_HANDLING", None, SAFE),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3", "HCCL_ASYNC_ERROR_HANDLING", "1", REVIEW),
    ("NCCL_DEBUG", "INFO", "HCCL_ENTRY_LOG_ENABLE", "1", REVIEW),
    ("NCCL_DEBUG", "warn", "ASCEND_GLOBAL_LOG_LEVEL", "2", REVIEW),
    ("NCCL_DEBUG", "VERSION", "", None, SAFE),
    ("NCCL_DEBUG_SUBSYS", "COLL,NET", "HCCL_DEBUG_CONFIG", "ALG,TASK,RESOURCE", REVIEW),
    ("NCCL_ALGO", "Ring", "HCCL_ALGO", "level0:NA;level1:ring", REVIEW),
    ("NCCL_ALGO", "Tree", "", None, SAFE),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", "PYTORCH_NPU_ALLOC_CONF", None, SAFE),
    (
        "PYTORCH_CUDA_ALLOC_CONF",
        "backend:cudaMallocAsync,roundup_power2_divisions:[256:1,512:2]",
        "PYTORCH_NPU_ALLOC_CONF",
        "roundup_power2_divisions:[256:1,512:2]",
        REVIEW,
    ),
    ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:20", "", None, SAFE),
    ("NCCL_COMM_ID", "10.0.0.1:4567", "HCCL_IF_IP", "10.0.0.1", REVIEW),
    ("CUDA_CACHE_DISABLE", "1", "ACL_OP_COMPILER_CACHE_MODE", "disable", REVIEW),
    ("NCCL_IB_DISABLE", "1", "", None, SAFE),
]


@pytest.mark.parametrize(("name", "value", "npu", "new", "safety"), TRANSLATED)
def test_translated(name: str, value: str | None, npu: str, new: str | None, safety: Safety) -> None:
    fact = fact_of(name)
    assert fact is not None
    done = translate(fact, value)
    assert (done.name, done.value, done.safety) == (npu, new, safety)
    if done.safety is REVIEW:
        assert done.problem


def test_every_name_that_is_written_is_known() -> None:
    """A translation never makes up a variable: each is one that the table names."""
    known = {fact.npu for fact in environment().values()} | set(environment())
    messages = " ".join(f"{fact.values} {fact.message}" for fact in environment().values())
    for name, value, npu, _, _ in TRANSLATED:
        assert not npu or npu in known or npu in messages, (name, value)


def test_what_stays_has_no_fact() -> None:
    assert fact_of("CUDA_DEVICE_MAX_CONNECTIONS") is None
    assert fact_of("MASTER_ADDR") is None
    assert fact_of("HOME") is None
    assert renamed("CUDA_LAUNCH_BLOCKING") == "ASCEND_LAUNCH_BLOCKING"
    assert renamed("NCCL_DEBUG") == ""


def test_rows_of_settings_are_patterns_and_complete() -> None:
    for row in setting_facts():
        re.compile(row.key), re.compile(row.value), re.compile(row.within)
        assert row.source
        assert bool(row.new) == (row.safety is not Safety.MANUAL), row
        assert row.new or row.advice, row


def test_settings_are_known_by_key_path_and_value() -> None:
    known = setting_fact(("trainer", "accelerator"), "gpu")
    assert known is not None and not known.new
    assert setting_fact(("trainer", "accelerator"), "cpu") is None
    assert setting_fact(("amp", "enabled"), "true") is not None
    assert setting_fact(("fp16", "enabled"), "true") is None
    assert setting_fact(("--tf32",), "True") is not None
    assert setting_fact(("#",), "MULTI_GPU") is None
    assert setting_fact((), "MULTI_GPU") is None


def test_commands_have_a_source() -> None:
    assert "nvcc" in commands()
    assert all(row.source and row.message for row in commands().values())
