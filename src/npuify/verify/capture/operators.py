"""Sees the functions of torch that modules call, by the names under which programs call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from npuify.verify.capture import places

if TYPE_CHECKING:
    from npuify.verify.capture.recorder import Recorder

_LEFT_OUT = frozenset(
    """view view_as reshape reshape_as transpose permute expand expand_as unsqueeze squeeze split chunk unbind t mT
    contiguous detach detach_ size dim numel stride storage_offset is_contiguous element_size data_ptr get_device type
    is_floating_point is_complex requires_grad_ register_hook backward retain_grad __len__ __repr__ __format__ __hash__
    __bool__ item tolist numpy __getitem__ narrow select flatten unflatten swapaxes movedim empty empty_like new_empty
    ndimension is_same_size untyped_storage broadcast_to set_ __get__ __set__ __delete__ has_names cpu
    is_inference record_stream is_pinned pin_memory is_set_to share_memory_ is_shared as_subclass""".split()
)
"""Calls that change no numbers: other views, questions, and copies to the host."""
_WITHIN = 16
_TENSORS = 8


class Operators(TorchFunctionMode):
    """Records calls within the modules at work, one level deep: not what torch itself calls to do them."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        recorder = self._recorder
        name = getattr(func, "__name__", "")
        if not recorder.working or not name or name in _LEFT_OUT:
            return func(*args, **kwargs)
        frame = recorder.frame
        number = frame.counts[name] = frame.counts.get(name, 0) + 1
        if number > _WITHIN:
            return func(*args, **kwargs)
        with recorder.busy():
            place = places.of_caller(recorder.settings.root)
            sequence = recorder.store.next()
            inputs = self._tensors((*enumerate(args), *kwargs.items()), sequence, "input")
            numbers = {
                str(key): value
                for key, value in (*enumerate(args), *kwargs.items())
                if isinstance(value, (bool, int, str)) or (isinstance(value, float) and value == value)
            }
        result = func(*args, **kwargs)
        with recorder.busy():
            outputs = self._tensors([("0", result)], sequence, "output")
            if outputs:
                recorder.store.put(
                    {
                        "event": "operator",
                        "step": recorder.step,
                        "phase": frame.phase,
                        "root": frame.number,
                        "name": f"{frame.name}/{name}",
                        "number": number,
                        "within": frame.sequence,
                        "from": sequence,
                        "to": recorder.store.next(),
                        "place": place,
                        "numbers": numbers,
                        "inputs": inputs,
                        "outputs": outputs,
                    }
                )
        return result

    def _tensors(self, values: Any, sequence: int, side: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for path, value in values:
            parts = value if isinstance(value, (list, tuple)) else [value]
            for index, tensor in enumerate(parts):
                if not isinstance(tensor, torch.Tensor) or len(found) >= _TENSORS:
                    continue
                slot = str(path) if parts is not value else f"{path}.{index}"
                found.append({"slot": slot, **self._recorder.describer.describe(tensor)})
                leaf = isinstance(tensor, torch.nn.Parameter)
                if side == "output" and tensor.requires_grad and torch.is_grad_enabled() and not leaf:
                    self._recorder.watch(tensor, sequence, f"{side}.{slot}")
        return found
