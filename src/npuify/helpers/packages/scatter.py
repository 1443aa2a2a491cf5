# mypy: ignore-errors
"""What torch_scatter computes, in plain PyTorch: reductions of the parts of a tensor that an index puts together.

Where several values are the largest or smallest of a group, the first counts, as it does in torch_scatter on the CPU.
The gradient of a product is right where a factor is zero, which torch_scatter takes for zero. Without ``dim_size`` or
``out`` the size depends on the index, for which the device is waited for.
"""

import torch


def _laid_out(index, src, dim):
    """An index of every value: ``index`` along ``dim``, the same in all other axes."""
    dim = dim % src.dim()
    if index.dim() == 1:
        index = index.reshape([1] * dim + [-1])
    return index.reshape(list(index.shape) + [1] * (src.dim() - index.dim())).expand(src.shape)


def _size(index, dim_size):
    if dim_size is not None:
        return dim_size
    return int(index.max()) + 1 if index.numel() else 0


def _shaped(src, dim, size):
    shape = list(src.shape)
    shape[dim] = size
    return shape


def scatter_sum(src, index, dim=-1, out=None, dim_size=None):
    """The sum of each group, added to ``out`` where it is given."""
    index = _laid_out(index, src, dim)
    if out is None:
        out = src.new_zeros(_shaped(src, dim, _size(index, dim_size)))
    return out.scatter_add_(dim, index, src)


scatter_add = scatter_sum


def scatter_mul(src, index, dim=-1, out=None, dim_size=None):
    """The product of each group, times ``out`` where it is given."""
    index = _laid_out(index, src, dim)
    if out is not None:
        return out.scatter_reduce_(dim, index, src, "prod")
    return src.new_ones(_shaped(src, dim, _size(index, dim_size))).scatter_reduce(dim, index, src, "prod")


def scatter_mean(src, index, dim=-1, out=None, dim_size=None):
    """The mean of each group; ``out`` counts into the sum, and not into the number."""
    out = scatter_sum(src, index, dim, out, dim_size)
    index = _laid_out(index, src, dim)
    count = src.new_zeros(out.shape).scatter_add_(dim, index, torch.ones_like(src)).clamp(min=1)
    return out.div_(count) if out.is_floating_point() else out.div_(count, rounding_mode="floor")


def _extreme(src, index, dim, out, dim_size, kind):
    """The largest or smallest of each group, and where it stands; the number of values where a group is empty."""
    index = _laid_out(index, src, dim)
    number = src.shape[dim]
    size = out.shape[dim] if out is not None else _size(index, dim_size)
    shape = _shaped(src, dim, size)
    with torch.no_grad():
        values = src.detach()
        if out is not None:
            best = out.detach().clone()
        elif src.is_floating_point():
            best = values.new_full(shape, float("-inf") if kind == "amax" else float("inf"))
        else:
            limits = torch.iinfo(src.dtype)
            best = values.new_full(shape, limits.min if kind == "amax" else limits.max)
        before = best.clone()
        best.scatter_reduce_(dim, index, values, kind)
        line = [1] * src.dim()
        line[dim] = number
        at = torch.arange(number, device=src.device).reshape(line).expand(src.shape)
        wins = values == best.gather(dim, index)
        if out is not None:
            wins = wins & (best != before).gather(dim, index)
        first = torch.full(shape, number, dtype=torch.int64, device=src.device)
        first.scatter_reduce_(dim, index, torch.where(wins, at, torch.full_like(at, number)), "amin")
    if not number:
        return (out if out is not None else src.new_zeros(shape)), first
    chosen = src.gather(dim, first.clamp(max=number - 1))
    rest = out if out is not None else torch.zeros_like(chosen)
    result = torch.where(first < number, chosen, rest)
    if out is None:
        return result, first
    return out.copy_(result), first


def scatter_max(src, index, dim=-1, out=None, dim_size=None):
    """The largest of each group, and where it stands."""
    return _extreme(src, index, dim, out, dim_size, "amax")


def scatter_min(src, index, dim=-1, out=None, dim_size=None):
    """The smallest of each group, and where it stands."""
    return _extreme(src, index, dim, out, dim_size, "amin")


def scatter(src, index, dim=-1, out=None, dim_size=None, reduce="sum"):
    """The reduction of each group that ``reduce`` names."""
    if reduce in ("sum", "add"):
        return scatter_sum(src, index, dim, out, dim_size)
    if reduce == "mul":
        return scatter_mul(src, index, dim, out, dim_size)
    if reduce == "mean":
        return scatter_mean(src, index, dim, out, dim_size)
    if reduce in ("min", "max"):
        return _extreme(src, index, dim, out, dim_size, f"a{reduce}")[0]
    raise ValueError(f"there is no reduction {reduce!r}")


# --- compositions ---


def _check(src, name):
    if not src.is_floating_point():
        raise ValueError(f"{name} takes floating-point numbers")


def _largest(src, index, dim, dim_size):
    """The largest of its group for each value; it takes no part in a gradient, since it cancels out."""
    largest = scatter_max(src.detach(), index, dim, dim_size=dim_size)[0]
    return largest.gather(dim, index)


def scatter_softmax(src, index, dim=-1, dim_size=None):
    """The softmax within each group."""
    _check(src, "scatter_softmax")
    index = _laid_out(index, src, dim)
    dim_size = _size(index, dim_size)
    shares = (src - _largest(src, index, dim, dim_size)).exp()
    return shares / scatter_sum(shares, index, dim, dim_size=dim_size).gather(dim, index)


def scatter_log_softmax(src, index, dim=-1, eps=1e-12, dim_size=None):
    """The logarithm of the softmax within each group."""
    _check(src, "scatter_log_softmax")
    index = _laid_out(index, src, dim)
    dim_size = _size(index, dim_size)
    apart = src - _largest(src, index, dim, dim_size)
    total = scatter_sum(apart.exp(), index, dim, dim_size=dim_size)
    return apart - (total + eps).log().gather(dim, index)


def scatter_logsumexp(src, index, dim=-1, out=None, dim_size=None, eps=1e-12):
    """The logarithm of the sum of exponentials of each group; 0 where one is empty.

    Raises:
        NotImplementedError: ``out`` is given, for which torch_scatter has rules of its own.
    """
    _check(src, "scatter_logsumexp")
    if out is not None:
        raise NotImplementedError("scatter_logsumexp with out")
    index = _laid_out(index, src, dim)
    dim_size = _size(index, dim_size)
    with torch.no_grad():
        largest = src.new_full(_shaped(src, dim, dim_size), float("-inf"))
        largest.scatter_reduce_(dim, index, src.detach(), "amax")
        finite = torch.where(torch.isfinite(largest), largest, torch.zeros_like(largest))
    total = scatter_sum((src - finite.gather(dim, index)).exp(), index, dim, dim_size=dim_size)
    result = (total + eps).log() + finite
    return torch.where(largest == float("-inf"), torch.zeros_like(result), result)


def scatter_std(src, index, dim=-1, out=None, dim_size=None, unbiased=True):
    """The standard deviation of each group."""
    index = _laid_out(index, src, dim)
    dim_size = out.shape[dim] if out is not None else _size(index, dim_size)
    count = scatter_sum(torch.ones_like(src), index, dim, dim_size=dim_size).clamp(min=1)
    mean = scatter_sum(src, index, dim, dim_size=dim_size) / count
    apart = src - mean.gather(dim, index)
    total = scatter_sum(apart * apart, index, dim, out, dim_size)
    if unbiased:
        count = (count - 1).clamp(min=1)
    return (total / (count + 1e-6)).sqrt()


# --- groups that lie one behind the other ---


def _groups(indptr, number):
    """The group of each of ``number`` values by where the groups begin; the number of groups for what is in none."""
    places = torch.arange(number, device=indptr.device, dtype=indptr.dtype).expand(*indptr.shape[:-1], number)
    groups = torch.searchsorted(indptr.contiguous(), places.contiguous(), right=True) - 1
    return torch.where(groups < 0, torch.full_like(groups, indptr.shape[-1] - 1), groups)


def _begins(indptr, src):
    return indptr.expand(*src.shape[: indptr.dim() - 1], indptr.shape[-1])


def segment_csr(src, indptr, out=None, reduce="sum"):
    """The reduction of each group, where ``indptr`` says at which place of its last axis each begins."""
    result = _segments(src, indptr, reduce)
    result = result[0] if isinstance(result, tuple) else result
    return result if out is None else out.copy_(result)


def _segments(src, indptr, reduce):
    dim = indptr.dim() - 1
    indptr = _begins(indptr, src)
    size = indptr.shape[-1] - 1
    index = _groups(indptr, src.shape[dim])
    index = index.reshape(list(index.shape) + [1] * (src.dim() - index.dim())).expand(src.shape)
    if reduce in ("min", "max"):
        values, at = _extreme(src, index, dim, None, size + 1, f"a{reduce}")
        return values.narrow(dim, 0, size), at.narrow(dim, 0, size)
    return scatter(src, index, dim, None, size + 1, reduce).narrow(dim, 0, size)


def segment_sum_csr(src, indptr, out=None):
    """The sum of each group."""
    return segment_csr(src, indptr, out, "sum")


segment_add_csr = segment_sum_csr


def segment_mean_csr(src, indptr, out=None):
    """The mean of each group."""
    return segment_csr(src, indptr, out, "mean")


def segment_min_csr(src, indptr, out=None):
    """The smallest of each group, and where it stands."""
    values, at = _segments(src, indptr, "min")
    return (values if out is None else out.copy_(values)), at


def segment_max_csr(src, indptr, out=None):
    """The largest of each group, and where it stands."""
    values, at = _segments(src, indptr, "max")
    return (values if out is None else out.copy_(values)), at


def gather_csr(src, indptr, out=None):
    """The value of its group for each place, where ``indptr`` says at which place each group begins."""
    dim = indptr.dim() - 1
    indptr = _begins(indptr, src)
    number = out.shape[dim] if out is not None else int(indptr.reshape(-1, indptr.shape[-1])[0, -1])
    index = _groups(indptr, number)
    shape = _shaped(src, dim, number)
    index = index.reshape(list(index.shape) + [1] * (src.dim() - index.dim())).expand(shape)
    result = src.gather(dim, index)
    return result if out is None else out.copy_(result)


def _ahead(index, src):
    """The axis that a sorted index is about, and the index with all axes before it."""
    return index.dim() - 1, index.expand(*src.shape[: index.dim() - 1], index.shape[-1])


def segment_coo(src, index, out=None, dim_size=None, reduce="sum"):
    """The reduction of each group along the last axis of a sorted ``index``.

    Raises:
        NotImplementedError: ``out`` is given for a mean.
    """
    dim, index = _ahead(index, src)
    if reduce == "mean" and out is not None:
        raise NotImplementedError("a mean with out")
    return scatter(src, index, dim, out, dim_size, reduce)


def segment_sum_coo(src, index, out=None, dim_size=None):
    """The sum of each group."""
    return segment_coo(src, index, out, dim_size, "sum")


segment_add_coo = segment_sum_coo


def segment_mean_coo(src, index, out=None, dim_size=None):
    """The mean of each group."""
    return segment_coo(src, index, out, dim_size, "mean")


def segment_min_coo(src, index, out=None, dim_size=None):
    """The smallest of each group, and where it stands."""
    dim, index = _ahead(index, src)
    return scatter_min(src, index, dim, out, dim_size)


def segment_max_coo(src, index, out=None, dim_size=None):
    """The largest of each group, and where it stands."""
    dim, index = _ahead(index, src)
    return scatter_max(src, index, dim, out, dim_size)


def gather_coo(src, index, out=None):
    """The value of its group for each place of a sorted ``index``."""
    dim, index = _ahead(index, src)
    index = index.reshape(list(index.shape) + [1] * (src.dim() - index.dim()))
    result = src.gather(dim, index.expand(*index.shape[: dim + 1], *src.shape[dim + 1 :]))
    return result if out is None else out.copy_(result)
