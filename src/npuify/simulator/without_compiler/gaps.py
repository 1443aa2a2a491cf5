"""What the device without a compiler lacks, by name; the documentation lists the same rows."""

from __future__ import annotations

import re

from npuify.simulator import messages

GAPS: dict[str, str] = {
    "devices": "there is one NPU, whatever --devices says",
    "memory": "memory is not counted, and --memory is no limit: torch.npu.memory_allocated() and its like say 0",
    "random numbers": "they come from the CPU's generator, as with --cpu-random; so does torch.Generator('npu')",
    "hccl": "there is no process group for NPU tensors: init_process_group('hccl') raises NotSimulated",
    "pinned memory": "pin_memory() gives the tensor as it is",
    "sparse tensors": "they, nested and quantized ones are refused by the name of the operator that makes or takes one",
    "storage.resize_": "an NPU storage cannot change its size, which FSDP needs: NotSimulated is raised",
    "resize_": "resize_() to more elements gives a tensor other memory; views made before keep the old one",
    "streams": "torch.Event('npu').synchronize() raises; that of torch.npu.Event works",
    "speed": "each operator costs some 20 microseconds more",
}
"""Gap → what happens instead."""


def say(name: str) -> None:
    """Tell once on stderr that a program met a gap which does not stop it."""
    text = f"npuify: simulated without a C++ compiler, so {GAPS[name]}"
    messages.say(text, topic="gap-" + re.sub(r"\W", "-", name))
