"""``nn.DataParallel`` computes on several GPUs in one process: here on one NPU.

After ``transfer_to_npu`` it looks for its parameters on CUDA and refuses. The imported torch_npu 2.13 does spread it
over several cards, through HcclCommInitAll; that has not been seen to work on any, and one process that feeds all of
them is slow.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

import torch

from npuify.language import phrase
from npuify.run import record
from npuify.run.frames import asking
from npuify.run.patches.cuda_method import index_of


def apply() -> None:
    """Give DataParallel one device, and let it move what it gets there by itself."""
    kind: Any = torch.nn.DataParallel
    init = kind.__init__
    module: Any = sys.modules["torch.nn.parallel.data_parallel"]
    module._get_available_device_type = lambda: "npu"

    @functools.wraps(init)
    def one_device(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        asked = list(device_ids) if device_ids is not None else list(range(torch.cuda.device_count()))
        first = index_of(asked[0]) if asked else None
        first = torch.cuda.current_device() if first is None else first
        became = f"one NPU, {first}" if len(asked) > 1 else "the NPU"
        status = record.CHANGED if len(asked) > 1 else record.EXACT
        place = record.caller(asking(sys._getframe(1)))
        record.call(place, "torch.nn.DataParallel", f"(device_ids={asked})", became, status, "data-parallel")
        if len(asked) > 1:
            warnings.warn(
                phrase(
                    "npuify run: DataParallel uses NPU {first} alone; use DistributedDataParallel for {number}",
                    first=first,
                    number=len(asked),
                ),
                stacklevel=2,
            )
        init(self, module, [first], first, dim)

    def scatter(self: Any, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        device = torch.device("npu", device_ids[0])
        return (moved(inputs, device),), (moved(kwargs or {}, device),)

    kind.__init__, kind.scatter = one_device, scatter


def moved(value: Any, device: Any) -> Any:
    """Tensors in lists, tuples and dicts, on a device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(item, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, device) for item in value)
    if isinstance(value, dict):
        return type(value)((key, moved(item, device)) for key, item in value.items())
    return value
