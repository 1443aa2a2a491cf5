"""Modules of ``torch_npu.contrib.module``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"torch_npu.contrib's {name} is deprecated; use {instead}.", FutureWarning, stacklevel=3)


class Mish(nn.Module):
    """x·tanh(softplus(x))."""

    def __init__(self) -> None:
        super().__init__()
        _deprecated("Mish", "torch.nn.Mish")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.npu.npu_mish(x)
        return found


class SiLU(nn.Module):
    """x·sigmoid(x)."""

    def __init__(self) -> None:
        super().__init__()
        _deprecated("SiLU", "torch.nn.SiLU")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.npu.npu_silu(x)
        return found


Swish = SiLU


class ChannelShuffle(nn.Module):
    """Two tensors joined along the channels, whose groups are then interleaved.

    Args:
        in_channels: of both tensors together.
        groups: what is interleaved; the package has a gradient for two only.
        split_shuffle: give back two halves instead of one tensor.
    """

    def __init__(self, in_channels: int, groups: int = 2, split_shuffle: bool = True) -> None:
        super().__init__()
        self.split_shuffle = split_shuffle
        self.group_len = in_channels // groups
        self._order = torch.arange(in_channels).reshape(groups, self.group_len).t().flatten()

    def forward(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        mixed = torch.cat([x1, x2], dim=1).index_select(1, self._order.to(x1.device))
        if not self.split_shuffle:
            return mixed
        return mixed[:, : self.group_len], mixed[:, self.group_len :]


class LabelSmoothingCrossEntropy(nn.Module):
    """Cross entropy, where ``smooth_factor`` of the probability is shared by the other ``num_classes - 1`` classes.

    Predictions [n, classes], targets [n]; the mean in float32.
    """

    def __init__(self, num_classes: int = 1000, smooth_factor: float = 0.0) -> None:
        super().__init__()
        self.on_value = 1.0 - smooth_factor
        self.off_value = smooth_factor / (num_classes - 1)

    def forward(self, pred: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        wanted = torch.ops.npu.npu_one_hot(target.int(), -1, pred.size(1), self.on_value, self.off_value)
        losses: torch.Tensor = torch.ops.npu.npu_softmax_cross_entropy_with_logits(pred, wanted)
        return losses.mean(dim=0, dtype=torch.float32)


class BiLSTM(nn.Module):
    """A bidirectional LSTM made of two that each go one way. [length, batch, input] → [length, batch, 2·hidden]."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        _deprecated("BiLSTM", "torch.nn.LSTM")
        self.fw_rnn = nn.LSTM(input_size, hidden_size)
        self.bw_rnn = nn.LSTM(input_size, hidden_size)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        ahead = self.fw_rnn(inputs)[0]
        back = self.bw_rnn(inputs.flip(0))[0].flip(0)
        return torch.cat([ahead, back], dim=2)


class _Conv(nn.Module):
    """Convolution, batch normalisation, leaky ReLU; parameters named as in YOLOv5's checkpoints."""

    def __init__(self, c1: int, c2: int, k: Any = 1, s: Any = 1, p: Any = None, g: int = 1, act: bool = True) -> None:
        super().__init__()
        if p is None:
            p = k // 2 if isinstance(k, int) else [one // 2 for one in k]
        self.conv = nn.Conv2d(c1, c2, k, s, p, groups=g, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.act(self.bn(self.conv(x)))
        return found


class Focus(nn.Module):
    """YOLOv5's first layer: each 2×2 of pixels becomes four channels, which are convolved.

    Args:
        c1: channels of the image.
        c2: channels of the result.
        k, s, p, g: kernel, stride, padding (by default half the kernel) and groups of the convolution.
        act: whether a leaky ReLU follows.
    """

    def __init__(self, c1: int, c2: int, k: Any = 1, s: Any = 1, p: Any = None, g: int = 1, act: bool = True) -> None:
        super().__init__()
        self.conv = _Conv(4 * c1, c2, k, s, p, g, act)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pixels = [x[..., row::2, column::2] for column in (0, 1) for row in (0, 1)]
        found: torch.Tensor = self.conv(torch.cat(pixels, dim=1))
        return found


class ROIAlign(nn.Module):
    """Regions of images, pooled bilinearly to ``output_size`` (height, width), in float32.

    Args:
        spatial_scale: boxes are multiplied by it.
        sampling_ratio: samples for each result along a direction; 0: as many as there are pixels.
        aligned: whether boxes are shifted by half a pixel.
    """

    def __init__(
        self, output_size: Sequence[int], spatial_scale: float, sampling_ratio: int, aligned: bool = True
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input_tensor: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        """Pool from [N, C, H, W] the boxes [n, 5]: number of the image and two corners.

        Raises:
            ValueError: ``rois`` has another shape.
        """
        if rois.dim() != 2 or rois.size(1) != 5:
            raise ValueError("Expected rois.dim() == 2 and rois.size(1) == 5")
        found: torch.Tensor = _RegionsAligned.apply(
            input_tensor.float(), rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned
        )
        return found

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned}"
        )


class _RegionsAligned(torch.autograd.Function):
    """The operator has no gradient of its own; the package's module gives it one by its backward operator."""

    @staticmethod
    def forward(ctx: Any, x: Any, rois: Any, size: Sequence[int], scale: float, samples: int, aligned: bool) -> Any:
        ctx.save_for_backward(rois)
        ctx.how = (tuple(x.shape), size, scale, samples, 3 if aligned else 0)
        return torch.ops.npu.npu_roi_align(x, rois, scale, size[0], size[1], samples, ctx.how[-1])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        shape, (height, width), scale, samples, mode = ctx.how
        given = torch.ops.npu.npu_roi_alignbk(
            gradients[0],
            *ctx.saved_tensors,
            shape,
            pooled_width=width,
            pooled_height=height,
            spatial_scale=scale,
            sample_num=samples,
            roi_end_mode=mode,
        )
        return given, None, None, None, None, None


class PSROIPool(nn.Module):
    """Position-sensitive pooling of regions, to ``group_size`` × ``group_size``.

    Raises:
        ValueError: the three sizes differ.
    """

    def __init__(
        self,
        pooled_height: int = 7,
        pooled_width: int = 7,
        spatial_scale: float = 1 / 16.0,
        group_size: int = 7,
        output_dim: int = 22,
    ) -> None:
        super().__init__()
        if not pooled_height == pooled_width == group_size:
            raise ValueError("only pooled_height == pooled_width == group_size supported.")
        self.pooled_height = pooled_height
        self.pooled_width = pooled_width
        self.group_size = group_size
        self.spatial_scale = spatial_scale
        self.output_dim = output_dim

    def forward(self, features: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.npu.npu_ps_roi_pooling(
            features, rois, self.spatial_scale, self.group_size, self.output_dim
        )
        return found


def _count_in_int32(module: Any) -> None:
    if module.num_batches_tracked is not None:
        module.num_batches_tracked = module.num_batches_tracked.to(torch.int32)


class FastBatchNorm1d(nn.BatchNorm1d):
    """``torch.nn.BatchNorm1d`` that counts its batches in int32."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _count_in_int32(self)

    def forward(self, input1: torch.Tensor) -> torch.Tensor:
        """Normalize."""
        return super().forward(input1)


class FastBatchNorm2d(nn.BatchNorm2d):
    """``torch.nn.BatchNorm2d`` that counts its batches in int32."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _count_in_int32(self)

    def forward(self, input1: torch.Tensor) -> torch.Tensor:
        """Normalize."""
        return super().forward(input1)


class FastBatchNorm3d(nn.BatchNorm3d):
    """``torch.nn.BatchNorm3d`` that counts its batches in int32."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _count_in_int32(self)

    def forward(self, input1: torch.Tensor) -> torch.Tensor:
        """Normalize."""
        return super().forward(input1)


class Prefetcher:
    """Batches of a loader, of which the next is always on its way to the device.

    Args:
        loader: gives pairs of an input and a target.
        stream: on which they are copied; by default an own one.
    """

    def __init__(self, loader: Iterable[Any], stream: Any = None) -> None:
        self.loader = iter(loader)
        self.stream = torch.npu.Stream() if stream is None else stream
        self.next_input: Any = None
        self.next_target: Any = None
        self.preload()

    def preload(self) -> None:
        """Begin to copy the next batch."""
        self.next_input, self.next_target = next(self.loader, (None, None))
        if self.next_input is not None:
            with torch.npu.stream(self.stream):
                self.next_input = self.next_input.npu(non_blocking=True)
                self.next_target = self.next_target.npu(non_blocking=True)

    def next(self) -> tuple[Any, Any]:
        """The next batch on the device; two times None after the last."""
        torch.npu.current_stream().wait_stream(self.stream)
        batch = self.next_input, self.next_target
        if self.next_target is not None:
            self.preload()
        return batch
