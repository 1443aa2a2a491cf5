# mypy: ignore-errors
"""Functions and layers of PyTorch, composed of others, for releases of torch_npu that have no kernel for them.

Each computes what the original computes, forwards and backwards; some need more memory or time.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional


def heaviside(input, values):
    """``torch.heaviside``: 0 below zero, 1 above, ``values`` at zero."""
    return torch.where(input == 0, values, (input > 0).to(input.dtype))


def copysign(input, other):
    """``torch.copysign``: the size of ``input`` with the sign of ``other``, minus zero included."""
    if not isinstance(other, torch.Tensor):
        other = torch.as_tensor(other, device=input.device)
    if not input.is_floating_point():
        input = input.to(torch.get_default_dtype())
    size = torch.abs(input)
    # 1/-0.0 is minus infinity: the only way to see the sign of a zero without looking at bits.
    below = (other < 0) | ((other == 0) & (1 / other.to(size.dtype) < 0))
    return torch.where(below, -size, size)


def hypot(input, other):
    """``torch.hypot``: the length of the hypotenuse, without overflow on the way."""
    one, two = torch.broadcast_tensors(torch.abs(input), torch.abs(other))
    # An infinite side makes an infinite length, even where the other is not a number.
    infinite = torch.isinf(one) | torch.isinf(two)
    large, small = torch.maximum(one, two), torch.minimum(one, two)
    divisor = torch.where((large == 0) | torch.isinf(large), torch.ones_like(large), large)
    ratio = torch.where(torch.isinf(large), torch.zeros_like(small), small / divisor)
    return torch.where(infinite, torch.full_like(large, float("inf")), large * torch.sqrt(1 + ratio * ratio))


def lcm(input, other):
    """``torch.lcm``: the least common multiple, never negative."""
    divisor = torch.gcd(input, other)
    return torch.where(divisor == 0, divisor, torch.abs(input // torch.clamp(divisor, min=1) * other))


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """``torch.nn.functional.multi_margin_loss``: how far each class comes within ``margin`` of the right one."""
    if size_average is not None or reduce is not None:
        reduction = nn._reduction.legacy_get_string(size_average, reduce)
    single = input.dim() == 1
    scores, classes = (input.unsqueeze(0), target.reshape(1)) if single else (input, target)
    right = scores.gather(1, classes.unsqueeze(1))
    losses = torch.clamp(margin - right + scores, min=0)
    losses = losses if p == 1 else losses * losses
    if weight is not None:
        losses = losses * weight[classes].unsqueeze(1)
    is_right = torch.arange(scores.shape[1], device=scores.device).unsqueeze(0) == classes.unsqueeze(1)
    losses = torch.where(is_right, torch.zeros_like(losses), losses).sum(1) / scores.shape[1]
    if reduction == "none":
        return losses[0] if single else losses
    return losses.mean() if reduction == "mean" else losses.sum()


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """``torch.repeat_interleave``: each element or slice as often as ``repeats`` says."""
    if repeats is None:
        ends = torch.cumsum(input, 0)
        total = int(ends[-1]) if ends.numel() else 0
        places = torch.arange(total, device=input.device, dtype=ends.dtype)
        return torch.searchsorted(ends, places, right=True).to(input.dtype)
    if dim is None:
        input, dim = input.flatten(), 0
    dim = dim % input.dim()
    if isinstance(repeats, torch.Tensor):
        if repeats.numel() == 1:
            repeats = int(repeats)
        else:
            return torch.index_select(input, dim, repeat_interleave(repeats.to(input.device)))
    shape = list(input.shape)
    wide = input.unsqueeze(dim + 1).expand(*shape[: dim + 1], repeats, *shape[dim + 1 :])
    shape[dim] *= repeats
    return wide.reshape(shape)


def pad(input, pad, mode="constant", value=None):
    """``torch.nn.functional.pad``: all modes, by joining and by choosing rows."""
    # Python 3.8 has no strict.
    for number, (before, after) in enumerate(zip(pad[0::2], pad[1::2])):  # noqa: B905
        dim = input.dim() - 1 - number
        if mode == "constant":
            input = _framed(input, dim, before, after, 0 if value is None else value)
        elif before or after:
            input = torch.index_select(input, dim, _rows(input.shape[dim], before, after, mode, input.device))
    return input


def _framed(input, dim, before, after, value):
    if before < 0 or after < 0:
        start = max(0, -before)
        input = input.narrow(dim, start, input.shape[dim] - start - max(0, -after))
    parts = [input]
    for place, count in ((0, before), (2, after)):
        if count > 0:
            shape = list(input.shape)
            shape[dim] = count
            frame = input.new_full(shape, value)
            parts = [frame, *parts] if place == 0 else [*parts, frame]
    return torch.cat(parts, dim) if len(parts) > 1 else input


def _rows(size, before, after, mode, device):
    places = torch.arange(-before, size + after, device=device)
    if mode == "replicate":
        return places.clamp(0, size - 1)
    if mode == "circular":
        return places % size
    if mode != "reflect":
        raise NotImplementedError("there is no mode " + repr(mode))
    if max(before, after) >= size:
        raise RuntimeError("the padding must be smaller than the size that it reflects")
    places = places.abs()
    return torch.where(places >= size, 2 * (size - 1) - places, places)


class ReflectionPad2d(nn.ReflectionPad2d):
    """``torch.nn.ReflectionPad2d``."""

    def forward(self, input):
        return pad(input, self.padding, "reflect")


class ReplicationPad2d(nn.ReplicationPad2d):
    """``torch.nn.ReplicationPad2d``."""

    def forward(self, input):
        return pad(input, self.padding, "replicate")


class Conv3d(nn.Conv3d):
    """``torch.nn.Conv3d``, as one convolution of images for each layer of the kernel's depth."""

    def _conv_forward(self, input, weight, bias):
        if input.dim() == 4:
            return self._conv_forward(input.unsqueeze(0), weight, bias).squeeze(0)
        frame = self._reversed_padding_repeated_twice
        if self.padding_mode == "zeros":
            input = pad(input, frame)
        else:
            input = pad(input, frame, self.padding_mode)
        depth, stride, step = weight.shape[2], self.stride[0], self.dilation[0]
        layers = (input.shape[2] - step * (depth - 1) - 1) // stride + 1
        total = None
        for level in range(depth):
            start = level * step
            chosen = input[:, :, start : start + stride * (layers - 1) + 1 : stride]
            images = chosen.transpose(1, 2).flatten(0, 1)
            part = functional.conv2d(
                images, weight[:, :, level], None, self.stride[1:], 0, self.dilation[1:], self.groups
            )
            total = part if total is None else total + part
        result = total.unflatten(0, (input.shape[0], layers)).transpose(1, 2)
        return result if bias is None else result + bias.reshape(1, -1, 1, 1, 1)


class SyncBatchNorm(nn.SyncBatchNorm):
    """``torch.nn.SyncBatchNorm``, with sums over all processes by differentiable collectives."""

    def forward(self, input):
        together = self.training or self.running_mean is None
        if not (together and dist.is_available() and dist.is_initialized()):
            return functional.batch_norm(
                input,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                together,
                self._momentum(),
                self.eps,
            )
        from torch.distributed.nn.functional import all_reduce

        group = self.process_group or dist.group.WORLD
        axes = [axis for axis in range(input.dim()) if axis != 1]
        count = torch.full((1,), input.numel() / input.shape[1], dtype=torch.float32, device=input.device)
        numbers = input.float()
        sums = torch.cat([numbers.sum(axes), count])
        sums = all_reduce(sums, group=group)
        count = sums[-1].detach()
        mean = sums[:-1] / count
        shape = [1, -1] + [1] * (input.dim() - 2)
        apart = numbers - mean.reshape(shape)
        variance = all_reduce((apart * apart).sum(axes), group=group) / count
        if self.training and self.running_mean is not None:
            with torch.no_grad():
                share = self._momentum()
                self.running_mean.mul_(1 - share).add_(mean.detach().to(self.running_mean.dtype), alpha=share)
                unbiased = variance.detach() * (count / torch.clamp(count - 1, min=1))
                self.running_var.mul_(1 - share).add_(unbiased.to(self.running_var.dtype), alpha=share)
        result = apart * torch.rsqrt(variance.reshape(shape) + self.eps)
        if self.weight is not None:
            result = result * self.weight.reshape(shape) + self.bias.reshape(shape)
        return result.to(input.dtype)

    def _momentum(self):
        """The share of this batch in the running statistics, and one more batch counted."""
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """``torch.nn.SyncBatchNorm.convert_sync_batchnorm``: every batch normalisation becomes one of these."""
        made = module
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            if module.affine:
                with torch.no_grad():
                    made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


def set_default_tensor_type(t):
    """``torch.set_default_tensor_type``, by the default type and the default device."""
    name = t if isinstance(t, str) else t.__module__ + "." + t.__name__
    place, _, kind = name.rpartition(".")
    kinds = {
        "FloatTensor": torch.float32,
        "DoubleTensor": torch.float64,
        "HalfTensor": torch.float16,
        "BFloat16Tensor": torch.bfloat16,
    }
    if kind not in kinds:
        raise TypeError("only floating-point types are supported as the default type")
    torch.set_default_dtype(kinds[kind])
    torch.set_default_device("npu" if place.endswith("npu") else "cpu")
