"""Each stand-in computes what the original computes, forwards and backwards, on the CPU."""

from __future__ import annotations

import itertools
import multiprocessing
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from npuify.helpers import stand_ins  # noqa: E402
from npuify.knowledge.pytorch.stand_ins import stand_ins as rows  # noqa: E402

SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-30, -1e30, 3e38, float("inf"), float("-inf"), float("nan")]


def _same(original: Any, other: Any, *inputs: Any, backwards: bool = True, tolerance: float = 1e-5) -> None:
    """Both give the same result, and the same gradients for a random gradient of it."""
    sides = []
    torch.manual_seed(1)
    seed = None
    for function in (original, other):
        given = [one.detach().clone().requires_grad_(backwards and one.is_floating_point()) for one in inputs]
        result = function(*given)
        if backwards and result.requires_grad:
            seed = torch.randn_like(result) if seed is None else seed
            result.backward(seed)
        sides.append((result.detach(), [one.grad for one in given]))
    (one, grads), (two, others) = sides
    assert one.dtype == two.dtype
    torch.testing.assert_close(two, one, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert torch.equal(torch.signbit(one), torch.signbit(two)) or not one.is_floating_point() or one.isnan().any()
    for grad, found in zip(grads, others, strict=True):
        if grad is not None or found is not None:
            zero = torch.zeros_like(grad if grad is not None else found)
            torch.testing.assert_close(
                found if found is not None else zero, grad if grad is not None else zero, rtol=tolerance, atol=tolerance
            )


def test_every_row_has_its_stand_in() -> None:
    for row in rows():
        assert hasattr(stand_ins, row.stand_in), row.name


@pytest.mark.parametrize("name", ["copysign", "hypot"])
def test_of_two_numbers(name: str) -> None:
    original, other = getattr(torch, name), getattr(stand_ins, name)
    torch.manual_seed(0)
    _same(original, other, torch.randn(6, 5), torch.randn(6, 5))
    _same(original, other, torch.randn(6, 1), torch.randn(5))
    pairs = torch.tensor(list(itertools.product(SPECIAL, SPECIAL)))
    _same(original, other, pairs[:, 0], pairs[:, 1], backwards=False)


def test_copysign_with_a_number() -> None:
    _same(lambda x: torch.copysign(x, -0.0), lambda x: stand_ins.copysign(x, -0.0), torch.randn(4))
    assert torch.equal(stand_ins.copysign(torch.tensor([3]), -1.0), torch.tensor([-3.0]))


def test_heaviside() -> None:
    x = torch.tensor(SPECIAL)
    _same(torch.heaviside, stand_ins.heaviside, x, torch.full_like(x, 0.5), backwards=False)
    whole = torch.arange(-3, 3)
    _same(torch.heaviside, stand_ins.heaviside, whole, torch.tensor(7), backwards=False)


def test_lcm() -> None:
    pairs = torch.tensor(list(itertools.product([0, 1, 2, 4, 6, 9, -4, -6, 35], repeat=2)))
    _same(torch.lcm, stand_ins.lcm, pairs[:, 0], pairs[:, 1])


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_multi_margin_loss(p: int, reduction: str, weighted: bool) -> None:
    torch.manual_seed(0)
    target = torch.tensor([0, 3, 2])
    weight = torch.rand(4) if weighted else None
    _same(
        lambda x: functional.multi_margin_loss(x, target, p, 0.2, weight, reduction=reduction),
        lambda x: stand_ins.multi_margin_loss(x, target, p, 0.2, weight, reduction=reduction),
        torch.randn(3, 4),
    )
    _same(
        lambda x: functional.multi_margin_loss(x, torch.tensor(1), p, weight=weight, reduction=reduction),
        lambda x: stand_ins.multi_margin_loss(x, torch.tensor(1), p, weight=weight, reduction=reduction),
        torch.randn(4),
    )


@pytest.mark.parametrize("repeats", [0, 1, 3, torch.tensor(2), torch.tensor([2]), torch.tensor([0, 2, 1, 3])])
@pytest.mark.parametrize("dim", [None, 0, -1])
def test_repeat_interleave(repeats: Any, dim: int | None) -> None:
    x = torch.randn(4, 3) if dim == 0 else torch.randn(2, 4) if dim else torch.randn(4)
    _same(lambda x: torch.repeat_interleave(x, repeats, dim), lambda x: stand_ins.repeat_interleave(x, repeats, dim), x)


def test_repeat_interleave_of_counts() -> None:
    for counts in (torch.tensor([0, 2, 1]), torch.tensor([], dtype=torch.long)):
        assert torch.equal(stand_ins.repeat_interleave(counts), torch.repeat_interleave(counts))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [(1, 2), (0, 3), (2, 1, 1, 0), (1, 1, 2, 2)])
def test_pad(mode: str, padding: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 5, 6) if len(padding) == 4 else torch.randn(2, 3, 6)
    _same(lambda x: functional.pad(x, padding, mode), lambda x: stand_ins.pad(x, padding, mode), x)


@pytest.mark.parametrize("padding", [(-1, 2), (-2, -1), (1, 0, -1, 3)])
def test_pad_that_cuts(padding: tuple[int, ...]) -> None:
    x = torch.randn(3, 5, 6)
    _same(lambda x: functional.pad(x, padding, value=7.5), lambda x: stand_ins.pad(x, padding, value=7.5), x)
    whole = torch.arange(6).reshape(2, 3)
    assert torch.equal(stand_ins.pad(whole, (1, 1)), functional.pad(whole, (1, 1)))


def test_pad_refuses_what_torch_refuses() -> None:
    for function in (functional.pad, stand_ins.pad):
        with pytest.raises(RuntimeError):
            function(torch.randn(1, 1, 3), (3, 0), "reflect")


@pytest.mark.parametrize("name", ["ReflectionPad2d", "ReplicationPad2d"])
@pytest.mark.parametrize("padding", [1, (0, 1, 2, 1)])
def test_padding_layers(name: str, padding: Any) -> None:
    original, other = getattr(nn, name)(padding), getattr(stand_ins, name)(padding)
    _same(original, other, torch.randn(2, 3, 4, 5))
    _same(original, other, torch.randn(3, 4, 5))
    assert isinstance(other, getattr(nn, name))


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 1},
        {"kernel_size": 3, "padding": 1},
        {"kernel_size": (3, 1, 2), "stride": (2, 1, 3), "padding": (2, 0, 1), "dilation": (2, 1, 1)},
        {"kernel_size": 2, "groups": 2, "bias": False},
        {"kernel_size": (2, 4, 3), "padding": "same"},
        {"kernel_size": 3, "padding": "valid"},
        {"kernel_size": 3, "padding": 1, "padding_mode": "replicate"},
        {"kernel_size": 3, "padding": (1, 2, 0), "padding_mode": "circular", "stride": 2},
    ],
)
def test_conv3d(options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    original = nn.Conv3d(4, 6, **options)
    other = stand_ins.Conv3d(4, 6, **options)
    other.load_state_dict(original.state_dict())
    for shape in ((2, 4, 6, 7, 8), (4, 6, 7, 8)):
        _same(original, other, torch.randn(shape), tolerance=1e-4)
    for (name, one), (_, two) in zip(original.named_parameters(), other.named_parameters(), strict=True):
        torch.testing.assert_close(two.grad, one.grad, rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.parametrize("text", ["torch.DoubleTensor", torch.FloatTensor, torch.HalfTensor, torch.BFloat16Tensor])
def test_set_default_tensor_type(text: Any) -> None:
    try:
        torch.set_default_tensor_type(text)
        wanted = torch.get_default_dtype()
        torch.set_default_tensor_type(torch.FloatTensor)
        stand_ins.set_default_tensor_type(text)
        assert torch.get_default_dtype() == wanted
        assert torch.ones(1).device.type == "cpu"
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
        torch.set_default_device(None)
    with pytest.raises(TypeError):
        stand_ins.set_default_tensor_type("torch.IntTensor")


@pytest.mark.parametrize("options", [{}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}])
@pytest.mark.parametrize("training", [True, False])
def test_sync_batch_norm_alone_is_batch_norm(options: dict[str, Any], training: bool) -> None:
    torch.manual_seed(0)
    original, other = nn.BatchNorm2d(3, **options), stand_ins.SyncBatchNorm(3, **options)
    original.train(training)
    other.train(training)
    for _ in range(2):
        _same(original, other, torch.randn(4, 3, 5, 5))
    for name, value in original.state_dict().items():
        torch.testing.assert_close(other.state_dict()[name], value, msg=name)


def test_convert_sync_batchnorm() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Sequential(nn.BatchNorm2d(2), nn.ReLU()), nn.BatchNorm1d(4)).eval()
    made = stand_ins.SyncBatchNorm.convert_sync_batchnorm(model)
    assert [type(one) for one in made.modules()].count(stand_ins.SyncBatchNorm) == 2
    assert made[1][0].weight is model[1][0].weight
    assert not made[1][0].training


def _one_of_two(rank: int, place: str, queue: Any) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
    torch.manual_seed(0)
    whole = torch.randn(5, 3, 4)
    mine = whole[:2] if rank == 0 else whole[2:]
    x = mine.clone().requires_grad_()
    layer = stand_ins.SyncBatchNorm(3)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 2.0, 0.5]))
    result = layer(x)
    (result * (torch.arange(result.numel()).reshape(result.shape) + rank * 24)).sum().backward()
    queue.put(
        (rank, result.detach().tolist(), x.grad.tolist(), layer.running_mean.tolist(), layer.running_var.tolist())
    )
    dist.destroy_process_group()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="gloo with a file as its meeting place")
def test_sync_batch_norm_of_two_processes_is_batch_norm_of_all_they_have(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=_one_of_two, args=(rank, tmp_path / "meet", queue)) for rank in range(2)]
    for worker in workers:
        worker.start()
    found = sorted(queue.get(timeout=300) for _ in workers)
    for worker in workers:
        worker.join(30)
    torch.manual_seed(0)
    x = torch.randn(5, 3, 4).requires_grad_()
    layer = nn.BatchNorm1d(3)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 2.0, 0.5]))
    result = layer(x)
    (result * torch.arange(60.0).reshape(5, 3, 4)).sum().backward()
    torch.testing.assert_close(torch.tensor(found[0][1] + found[1][1]), result.detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(torch.tensor(found[0][2] + found[1][2]), x.grad, rtol=1e-4, atol=1e-4)
    for rank in (0, 1):
        torch.testing.assert_close(torch.tensor(found[rank][3]), layer.running_mean)
        torch.testing.assert_close(torch.tensor(found[rank][4]), layer.running_var)
