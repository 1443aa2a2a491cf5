"""Describes a tensor as captures of PyTorch programs do, with NumPy, and the process that computed it."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from typing import Any

import numpy as np
import tensorflow as tf

ROWS = 128
"""Rows of a model's input that get a signature."""
_COLUMNS = 2048
_SIMULATED = "NPUIFY_SIMULATE_TENSORFLOW"
_INSIDE = "npuify.simulator.tensorflow.inside.device"


def rank() -> int:
    """Which rank this process is."""
    text = os.environ.get("RANK_ID", "0")
    return int(text) if text.isdigit() else 0


def process() -> dict[str, Any]:
    """What the first record of a process says."""
    adapter = sys.modules.get("npu_device")
    world = os.environ.get("RANK_SIZE", "1")
    names = {"cpu": platform.processor() or platform.machine()}
    if adapter is not None:
        names["npu"] = os.environ.get("NPUIFY_SIMULATE_SOC", "")
    for number, one in enumerate(tf.config.list_physical_devices("GPU")):
        if number == 0:
            names["cuda"] = str(tf.config.experimental.get_device_details(one).get("device_name", ""))
    return {
        "pid": os.getpid(),
        "argv": sys.argv,
        "host": platform.node(),
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "simulated": _SIMULATED in os.environ,
        "world": int(world) if world.isdigit() else 1,
        "devices": names,
    }


def switches() -> dict[str, Any]:
    """What decides how numbers are computed."""
    found: dict[str, Any] = {"default_dtype": tf.keras.mixed_precision.global_policy().name}
    if tf.config.list_physical_devices("GPU"):
        found["cuda.matmul.allow_tf32"] = tf.config.experimental.tensor_float_32_execution_enabled()
    return found


def device_of(tensor: Any, in_function: bool) -> str:
    """The kind of device that computed a tensor. On an NPU that is so for functions only: the rest runs on the host."""
    name = tensor.device.upper()
    if "GPU" in name:
        return "cuda"
    inside = sys.modules.get(_INSIDE)
    opened = "NPU" in name or (inside is not None and inside._default is not None)
    return "npu" if opened and in_function else "cpu"


class Describer:
    """Describes tensors and writes their values."""

    def __init__(self, store: Any, samples: int) -> None:
        self._store = store
        self._samples = samples

    def describe(self, tensor: Any, in_function: bool, *, rows: bool = False) -> dict[str, Any]:
        """What a record says of a tensor.

        Args:
            rows: with a signature of each row, by which batches are recognised.
        """
        begun = time.perf_counter()
        try:
            return self._describe(tensor, in_function, rows)
        finally:
            self._store.seconds += time.perf_counter() - begun

    def _describe(self, tensor: Any, in_function: bool, rows: bool) -> dict[str, Any]:
        held = tensor.numpy()
        found: dict[str, Any] = {
            "dtype": tensor.dtype.name,
            "shape": list(held.shape),
            "device": device_of(tensor, in_function),
        }
        flat = np.ascontiguousarray(held).reshape(-1)
        if not flat.size:
            return found
        parts = flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat
        values = parts.astype(np.float64)
        found.update(_statistics(values))
        at = places(parts.size, self._samples)
        sample = parts if at is None else parts[at]
        start = self._store.values(sample.tobytes())
        if start >= 0:
            found["at"] = start
            found["kept"] = int(sample.size)
        if rows and held.ndim >= 1 and held.shape[0] > 0 and not np.iscomplexobj(held):
            found["rows"] = _signatures(held)
        return found


def places(count: int, wanted: int) -> Any:
    """Which of ``count`` elements are kept, in ascending order; None: all. Those of captures of PyTorch programs."""
    if count <= wanted:
        return None
    step = max(1, int(count * 0.6180339887498949))
    while math.gcd(step, count) != 1:
        step += 1
    return np.sort(np.arange(wanted, dtype=np.int64) * step % count)


def _statistics(values: Any) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    found: dict[str, Any] = {"count": int(values.size)}
    if finite.size:
        largest = float(np.abs(finite).max())
        norm = float(np.linalg.norm(finite / largest) * largest) if largest > 0 else 0.0
        found.update(min=float(finite.min()), max=float(finite.max()), mean=float(finite.mean()), norm=norm)
    numbers = {
        "nan": int(np.isnan(values).sum()),
        "inf": int(np.isinf(values).sum()),
        "zero": int(finite.size - np.count_nonzero(finite)),
    }
    found.update({name: number for name, number in numbers.items() if number})
    return found


def _signatures(held: Any) -> list[float]:
    """One number for each row: where two agree, so do the rows, but for rounding."""
    kept = held[:ROWS].reshape(min(held.shape[0], ROWS), -1)
    width = kept.shape[1]
    if width > _COLUMNS:
        kept = kept[:, places(width, _COLUMNS)]
        width = _COLUMNS
    weights = np.cos(np.arange(width, dtype=np.float64) * 2.399963229728653 + 0.5)
    sums = kept.astype(np.float64) @ weights
    return [round(float(value), 9) if math.isfinite(value) else 0.0 for value in sums]
