# mypy: ignore-errors
"""Run a function on the CPU where its tensors are on an NPU, and hand its results back to where they were.

``on_cpu(function)(…)`` copies every tensor among the arguments to the CPU, calls the function, and copies what it
returns and what it wrote into its arguments back. Gradients flow through the copies. It is as slow as these copies:
take it for what an NPU has no kernel for, not for what it only does slowly. Tensors on CUDA stay there, since CUDA has
the kernels: one program may run on both.
"""

import dataclasses
import functools
import operator

import torch

_HALVES = (torch.float16, torch.bfloat16)


def on_cpu(function):
    """``function``, computed on the CPU where a tensor is given to it that is neither there nor on CUDA.

    Tensors are found in the arguments and the result, in keyword arguments, and inside lists, tuples, named tuples,
    dictionaries, sets and data classes. One tensor that is given twice is one tensor on the CPU, too. Devices among the
    arguments become the CPU. Where the function has no kernel for half precision, it gets float32 and its results
    become half again. Without any tensor on another device the function is called as it is.
    """
    if getattr(function, "_runs_on_cpu", False):
        return function

    @functools.wraps(function, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
    def call(*args, **kwargs):
        visit = _Visit()
        here_args, here_kwargs = visit.to_cpu(args), visit.to_cpu(kwargs)
        if visit.device is None:
            return function(*args, **kwargs)
        try:
            result = function(*here_args, **here_kwargs)
        except (RuntimeError, NotImplementedError) as error:
            if not visit.has_half or "not implemented for" not in str(error):
                raise
            visit = _Visit(widen=True)
            here_args, here_kwargs = visit.to_cpu(args), visit.to_cpu(kwargs)
            result = function(*here_args, **here_kwargs)
        visit.write_back()
        return visit.to_device(result)

    call._runs_on_cpu = True
    return call


class _Visit:
    """One call: the copies that were made for it."""

    def __init__(self, widen=False):
        self.device = None
        """Where the first tensor came from; what the function makes anew goes there."""
        self.has_half = False
        self._widen = widen
        self._half = None
        self._copies = {}
        """By the identity of the original: the original, its copy, and the copy's content before the call."""
        self._originals = {}
        """By the identity of the copy: the original."""

    def to_cpu(self, value):
        return _mapped(value, self._tensor_to_cpu, lambda device: torch.device("cpu"))

    def to_device(self, value):
        return _mapped(value, self._tensor_to_device, lambda device: device)

    def _tensor_to_cpu(self, tensor):
        if tensor.device.type in ("cpu", "cuda"):
            return tensor
        if self.device is None:
            self.device = tensor.device
        known = self._copies.get(id(tensor))
        if known is not None:
            return known[1]
        copy = tensor.cpu()
        if tensor.dtype in _HALVES:
            self.has_half = True
            if self._widen:
                self._half = tensor.dtype
                copy = copy.float()
        self._copies[id(tensor)] = (tensor, copy, copy.detach().clone())
        self._originals[id(copy)] = tensor
        return copy

    def _tensor_to_device(self, tensor):
        original = self._originals.get(id(tensor))
        if original is not None:
            return original
        if tensor.device.type != "cpu":
            return tensor
        if self._half is not None and tensor.dtype == torch.float32:
            tensor = tensor.to(self._half)
        return tensor.to(self.device)

    def write_back(self):
        """Copy what the function wrote into its arguments to the originals.

        Code in C++ writes without telling PyTorch, so the contents are compared, not the counters of changes.
        """
        for original, copy, before in self._copies.values():
            if copy.shape == before.shape and _same_bytes(copy.detach(), before):
                continue
            if original.is_leaf and original.requires_grad:
                with torch.no_grad():
                    _assign(original, copy)
            else:
                _assign(original, copy)


def _assign(original, copy):
    if original.shape != copy.shape:
        with torch.no_grad():
            original.resize_(copy.shape)
    original.copy_(copy)


def _same_bytes(one, other):
    if one.layout != torch.strided or one.is_quantized:
        return torch.equal(one, other)
    if one.numel() == 0:
        return True
    return torch.equal(_bytes(one), _bytes(other))


def _bytes(tensor):
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _mapped(value, tensor, device):
    """``value`` with ``tensor`` applied to its tensors and ``device`` to its devices; itself where nothing changes."""
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if isinstance(value, torch.device):
        return device(value)
    if isinstance(value, (str, bytes, torch.Size)):
        return value
    if isinstance(value, dict):
        items = {key: _mapped(item, tensor, device) for key, item in value.items()}
        if all(items[key] is value[key] for key in items):
            return value
        made = value.copy()  # keeps the order, and the default of a defaultdict
        made.update(items)
        return made
    if isinstance(value, (list, tuple, set, frozenset)):
        old = list(value)
        items = [_mapped(item, tensor, device) for item in old]
        if all(map(operator.is_, items, old)):
            return value
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return type(value)(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
        items = {name: _mapped(item, tensor, device) for name, item in fields.items()}
        if all(items[name] is fields[name] for name in items):
            return value
        return dataclasses.replace(value, **items)
    return value
