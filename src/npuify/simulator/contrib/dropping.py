"""Modules of ``torch_npu.contrib.module`` that drop at random.

Two of them draw ahead of time: a module asks for a mask of its shape when it is called the first time, and drops
nothing until ``enable_…_ensemble(model)`` has made the model draw what was asked for. So it is in the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import nn

from npuify.simulator.contrib.functions import dropout_with_byte_mask


@dataclass
class _Wanted:
    """How many masks of a kind are wanted for each step, and those that were drawn."""

    draw: Any
    request_count: int = 0
    queue: list[Any] = field(default_factory=list)

    def take(self) -> Any:
        """A mask; None, and one more is wanted from now on, where none is left."""
        if self.queue:
            return self.queue.pop(0)
        self.request_count += 1
        return None

    def fill(self) -> None:
        while len(self.queue) < self.request_count:
            self.queue.append(self.draw())


class NpuDropPath(nn.Module):
    """Leaves samples out of a residual branch with probability ``drop_prob``, and scales the others up."""

    task_dict: ClassVar[dict[Any, _Wanted]] = {}
    droppath_stream: ClassVar[Any] = None

    def __init__(self, drop_prob: float = 0.0) -> None:
        super().__init__()
        self.drop_prob = drop_prob
        self.keep_prob = 1 - drop_prob

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop samples of ``x``, [N, …].

        Raises:
            RuntimeError: ``x`` is no tensor.
        """
        if self.drop_prob == 0.0 or not self.training:
            return x
        if not isinstance(x, torch.Tensor):
            raise RuntimeError("input type error!")
        size, dtype, device = (x.shape[0], *[1] * (x.ndim - 1)), x.dtype, x.device
        key = (x.shape, device, dtype, x.ndim)
        drawn = self.task_dict.setdefault(key, _Wanted(lambda: torch.rand(size, dtype=dtype, device=device))).take()
        return x if drawn is None else x.div(self.keep_prob) * (drawn + self.keep_prob).floor()

    @classmethod
    def enable_droppath_ensemble(cls, model: nn.Module) -> None:
        """Draw before each call of ``model`` what its modules asked for."""

        def draw(module: nn.Module, inputs: Any) -> None:
            with torch.no_grad():
                for wanted in cls.task_dict.values():
                    wanted.fill()

        model.register_forward_pre_hook(draw)


class NpuCachedDropout(nn.Dropout):
    """Dropout whose masks are drawn after each call of the model, for the next one."""

    task_dict: ClassVar[dict[Any, _Wanted]] = {}
    dropout_stream: ClassVar[Any] = None

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name

    def forward(self, x: Any) -> Any:
        """Drop elements of a tensor; for a list (shape, type, device) the mask alone.

        Raises:
            RuntimeError: ``x`` is neither.
        """
        if isinstance(x, torch.Tensor):
            shape, dtype, device, plain = x.shape, x.dtype, x.device, x
        elif isinstance(x, list):
            (shape, dtype, device), plain = x, None
        else:
            raise RuntimeError("input type error!")
        if self.p == 0:
            return plain
        p = self.p

        def draw() -> Any:
            return torch.ops.npu.npu_dropout_gen_mask(shape, p=p, dtype=dtype, device=device)

        mask = self.task_dict.setdefault((shape, dtype, device, p), _Wanted(draw)).take()
        if mask is None or plain is None:
            return plain if mask is None else mask
        return torch.ops.npu.npu_dropout_do_mask(x, mask, p)[0]

    @classmethod
    def enable_dropout_ensemble(cls, model: nn.Module) -> None:
        """Draw after each call of ``model`` what its modules asked for."""

        def draw(module: nn.Module, inputs: Any, outputs: Any) -> None:
            for wanted in cls.task_dict.values():
                wanted.fill()

        model.register_forward_hook(draw)


NpuFairseqDropout = NpuCachedDropout


class DropoutWithByteMask(nn.Module):
    """:func:`~npuify.simulator.contrib.functions.dropout_with_byte_mask` as a module.

    Raises:
        ValueError: ``p`` is not a probability; when called, ``inplace`` was asked for.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False, max_seed: int = 2**10 - 1) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input1: torch.Tensor) -> torch.Tensor:
        return dropout_with_byte_mask(input1, self.p, self.training, self.inplace)
