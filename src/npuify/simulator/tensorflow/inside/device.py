"""``npu_device.open()`` and what comes with it.

After hicann/tensorflow@82957b9:tf_adapter_2.x/python/npu_device/npu_device.py, in own words.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import def_function
from tensorflow.python.framework import ops

from npuify.simulator.tensorflow.inside import journal, options, sessions, world

NPU = "/job:localhost/replica:0/task:0/device:NPU"
_lock = threading.Lock()
_instances: dict[int, NpuDeviceHandle] = {}
_options: options.NpuConfig | None = None
_default: NpuDeviceHandle | None = None
_function: Any = def_function.function
_local = threading.local()

set_device_sat_mode = sessions.set_device_sat_mode
is_inf_nan_enabled = sessions.is_inf_nan_enabled
get_ranksize = world.get_ranksize


def global_options() -> options.NpuConfig:
    """The options that ``open`` takes."""
    global _options
    if _options is None:
        _options = options.NpuConfig()
    return _options


def global_npu_ctx() -> Any:
    """The device that is the default; None before ``as_default()``."""
    return _default


class _Function:
    """``tf.function``: without XLA once the NPU is the default."""

    def __call__(self, func: Any = None, *args: Any, **kwargs: Any) -> Any:
        for name in ("jit_compile", "experimental_compile"):
            if kwargs.get(name):
                if _default is None:
                    journal.tell(
                        "xla-before-open",
                        "tf.function(jit_compile=True) before open().as_default() keeps XLA on, which NPUs do not have",
                    )
                else:
                    kwargs[name] = False
        if func is None:
            return lambda inner: self(inner, *args, **kwargs)
        journal.count("tf.function" if _default is not None else "tf.function before as_default")
        return _function(func, *args, **kwargs)


npu_compat_function = _Function()


def enable_v1() -> None:
    """TensorFlow 1's behaviour, with the adapter's sessions."""
    if _instances:
        os.environ["ASCEND_DEVICE_ID"] = str(next(iter(_instances)))
    journal.note("enable_v1")
    tf.compat.v1.disable_v2_behavior()


def open(device_id: Any = None) -> NpuDeviceHandle:
    """The device of this process, which is made once."""
    if device_id is None:
        device_id = int(os.getenv("ASCEND_DEVICE_ID", "0"))
    with _lock:
        if device_id in _instances:
            return _instances[device_id]
        if _instances:
            raise RuntimeError(
                f"Failed create npu instance on device {device_id} as existed instance on {list(_instances)}"
            )
        cards = int(os.environ.get("NPUIFY_SIMULATE_DEVICES", "8"))
        if not 0 <= int(device_id) < cards:
            raise RuntimeError(f"Failed open npu device {device_id} : there are {cards} simulated NPUs")
        given = global_options().as_dict()
        if given.get("precision_mode") is not None and given.get("precision_mode_v2") is not None:
            raise RuntimeError(
                f"Failed open npu device {device_id} : precision_mode and precision_mode_v2 cannot be set both"
            )
        size = int(world.get_ranksize())
        _chief(size)
        world.start()
        rank = world.get_rank_id() if size > 1 else 0
        journal.note("open", device=device_id, workers=size, worker=rank, options=_set_options(given))
        global_options().opened()
        _instances[device_id] = NpuDeviceHandle(int(device_id), size, rank)
        return _instances[device_id]


def _chief(size: int) -> None:
    """The variables that go with CM_CHIEF_IP."""
    if size <= 1 or os.getenv("CM_CHIEF_IP") is None or os.getenv("RANK_TABLE_FILE") is not None:
        return
    for variable, what in (("CM_CHIEF_PORT", "port"), ("CM_CHIEF_DEVICE", "device"), ("CM_CHIEF_IP", "ip")):
        if not os.getenv(variable):
            raise RuntimeError(f"You must specify cm chief {what} by set env {variable} in distribution mode")


def _set_options(given: dict[str, Any]) -> dict[str, Any]:
    """Those that differ from their defaults."""
    plain = options.NpuConfig().as_dict()
    return {name: value for name, value in given.items() if plain.get(name) != value}


def close() -> None:
    """Ends it."""
    journal.note("close")


def _anywhere(*args: Any, **kwargs: Any) -> Any:
    """``tf.device`` once the NPU is the default: it has no effect, whatever it names."""
    frame = sys._getframe(1)
    if frame.f_globals.get("__name__") == ops.__name__ and frame.f_back is not None:
        frame = frame.f_back
    if str(frame.f_globals.get("__name__")).partition(".")[0] not in ("tensorflow", "keras"):
        named = args[0] if args else kwargs.get("device_name_or_function", kwargs.get("device_name"))
        journal.count(f'tf.device("{named}") without effect')
    return contextlib.nullcontext()


class NpuDeviceHandle:
    """The device of this process."""

    def __init__(self, device_id: int, workers_num: int, worker_id: int) -> None:
        self._device_id = device_id
        self.workers_num = workers_num
        self.worker_id = worker_id

    def name(self) -> str:
        """TensorFlow's name for it."""
        return f"{NPU}:{self._device_id}"

    def scope(self) -> Any:
        """What is made there is on the NPU; here all is on the CPU."""
        journal.count("device scope")
        return contextlib.nullcontext()

    def is_cluster_worker(self) -> bool:
        """Whether there are other ranks."""
        return self.workers_num > 1 and self.workers_num > self.worker_id >= 0

    def as_default(self) -> NpuDeviceHandle:
        """From now on functions run on the NPU, and ``tf.device`` has no effect."""
        global _default
        if journal.counted("tf.function before as_default"):
            journal.tell(
                "function-before-open",
                "a tf.function was made before open().as_default(); open the NPU before models and functions are made",
            )
        _default = self
        tf.function = npu_compat_function
        def_function.function = npu_compat_function
        ops.device = _anywhere
        journal.note("as_default", device=self._device_id)
        return self


def set_npu_loop_size(loop_size: Any) -> None:
    """How many rounds of a loop in a function are one step of the card's; recorded."""
    journal.note("loop_size", size=loop_size)


@contextlib.contextmanager
def npu_run_context(options_: Any = None, **kwargs: Any) -> Any:
    """Options for a part of the program; recorded."""
    options_ = kwargs.get("options", options_)
    if options_ is not None and not isinstance(options_, options.NpuRunContextOptions):
        raise ValueError("options type must be NpuRunContextOptions")
    journal.count("run context")
    yield


def stupid_repeat(word: str, times: int) -> str:
    """As there."""
    return word * times


def watch() -> None:
    """From the import on functions are watched, so that those made too early can be told."""
    tf.function = npu_compat_function
