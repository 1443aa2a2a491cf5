"""Seeds, timing, memory and checkpoints."""

import json
import os
import random
import time

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class AverageMeter:
    def __init__(self, name: str) -> None:
        self.name = name
        self.total = 0.0
        self.count = 0

    def update(self, value: float, n: int = 1) -> None:
        self.total += value * n
        self.count += n

    @property
    def average(self) -> float:
        return self.total / max(self.count, 1)


class StepTimer:
    """Milliseconds between start() and stop(), measured on the GPU when there is one."""

    def __init__(self) -> None:
        self.on_gpu = torch.cuda.is_available()
        if self.on_gpu:
            self.begin = torch.cuda.Event(enable_timing=True)
            self.end = torch.cuda.Event(enable_timing=True)

    def start(self) -> None:
        if self.on_gpu:
            self.begin.record()
        else:
            self.started = time.perf_counter()

    def stop(self) -> float:
        if self.on_gpu:
            self.end.record()
            torch.cuda.synchronize()
            return self.begin.elapsed_time(self.end)
        return (time.perf_counter() - self.started) * 1000.0


def memory_report() -> dict:
    """Memory in MiB; the keys are read by the dashboard, so they stay as they are."""
    if not torch.cuda.is_available():
        return {"cuda_allocated_mb": 0.0, "cuda_peak_mb": 0.0, "cuda_reserved_mb": 0.0}
    mib = 1024.0 * 1024.0
    return {
        "cuda_allocated_mb": torch.cuda.memory_allocated() / mib,
        "cuda_peak_mb": torch.cuda.max_memory_allocated() / mib,
        "cuda_reserved_mb": torch.cuda.memory_reserved() / mib,
    }


def describe_device(device: torch.device) -> str:
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        return f"{torch.cuda.get_device_name(device)} ({properties.total_memory / 1024**3:.1f} GiB)"
    return "CPU (no CUDA device was found)"


def save_checkpoint(path: str, model, optimizer, scaler, epoch: int, best: float) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "epoch": epoch,
        "best": best,
        "rng": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda_rng"] = torch.cuda.get_rng_state_all()
    torch.save(state, path)


def load_checkpoint(path: str, model, optimizer=None, scaler=None, device="cuda"):
    """Loads ``path`` into the objects given; returns the next epoch and the best accuracy so far."""
    if torch.cuda.is_available():
        state = torch.load(path, map_location="cuda:0", weights_only=True)
    else:
        state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    if optimizer is not None:
        optimizer.load_state_dict(state["optimizer"])
    if scaler is not None:
        scaler.load_state_dict(state["scaler"])
    torch.set_rng_state(state["rng"].cpu())
    if "cuda_rng" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state_all([s.cpu() for s in state["cuda_rng"]])
    model.to(device)
    return state["epoch"] + 1, state["best"]


def append_json(path: str, record: dict) -> None:
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(record) + "\n")
