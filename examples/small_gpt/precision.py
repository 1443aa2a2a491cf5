"""Which precision a GPU is good for, and the switches that go with it."""

from contextlib import nullcontext

import torch


def pick_dtype(device_type: str) -> torch.dtype:
    if device_type != "cuda":
        return torch.float32
    if torch.cuda.get_device_capability()[0] >= 8 and torch.cuda.is_bf16_supported():
        return torch.bfloat16
    return torch.float16


def allow_tf32() -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("high")


def autocast_for(device_type: str, dtype: torch.dtype):
    if device_type == "cpu":
        return nullcontext()
    return torch.amp.autocast(device_type="cuda", dtype=dtype)


def make_scaler(dtype: torch.dtype):
    return torch.cuda.amp.GradScaler(enabled=dtype == torch.float16)
