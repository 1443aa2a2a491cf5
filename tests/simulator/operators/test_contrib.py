"""The functions and modules of torch_npu.contrib against PyTorch's own, and against loops."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from npuify.knowledge import load  # noqa: E402
from npuify.simulator import contrib  # noqa: E402

nn = torch.nn
quiet = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.mark.parametrize("name", contrib.__all__)
def test_every_name_is_the_releases_and_takes_its_arguments(name: str) -> None:
    release = load("2.13.0")
    homes = ("torch_npu.contrib", "torch_npu.contrib.function", "torch_npu.contrib.module")
    full = next(f"{home}.{name}" for home in homes if release.has(f"{home}.{name}"))
    signature = release.signature(full)
    if signature is None or signature.parameters is None or name.startswith("FastBatchNorm"):
        return
    if [parameter.name for parameter in signature.parameters] == ["args", "kwargs"]:
        return  # a decorator hides them
    mine = [parameter for parameter in inspect.signature(getattr(contrib, name)).parameters if parameter != "self"]
    assert mine == [parameter.name for parameter in signature.parameters]


@quiet
@pytest.mark.parametrize(("ours", "torchs"), [("Mish", "mish"), ("SiLU", "silu"), ("Swish", "silu")])
def test_activations(ours: str, torchs: str) -> None:
    mine = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    its = mine.detach().clone().requires_grad_()
    result = getattr(contrib, ours)()(mine)
    expected = getattr(nn.functional, torchs)(its)
    torch.testing.assert_close(result, expected)
    result.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(mine.grad, its.grad)


def test_old_activations_say_that_they_are_deprecated() -> None:
    with pytest.warns(FutureWarning, match=r"torch\.nn\.Mish"):
        contrib.Mish()


@pytest.mark.parametrize("split", [True, False])
def test_channel_shuffle_is_torchs(split: bool) -> None:
    one, other = torch.randn(2, 6, 3, 3), torch.randn(2, 6, 3, 3)
    found = contrib.ChannelShuffle(12, split_shuffle=split)(one, other)
    expected = nn.ChannelShuffle(2)(torch.cat([one, other], 1))
    if split:
        assert [half.shape[1] for half in found] == [6, 6]
        found = torch.cat(found, 1)
    torch.testing.assert_close(found, expected)


def test_label_smoothing() -> None:
    predictions = torch.randn(5, 7, requires_grad=True)
    target = torch.tensor([0, 3, 6, 1, 1])
    loss = contrib.LabelSmoothingCrossEntropy(num_classes=7, smooth_factor=0.1)(predictions, target)
    # torch shares its smoothing among all classes, this one among the others only.
    expected = nn.functional.cross_entropy(predictions.detach(), target, label_smoothing=0.1 * 7 / 6)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert predictions.grad is not None and float(predictions.grad.abs().sum()) > 0


@quiet
def test_two_lstms_are_a_bidirectional_one() -> None:
    ours = contrib.BiLSTM(4, 3)
    both = nn.LSTM(4, 3, bidirectional=True)
    with torch.no_grad():
        for name, parameter in ours.fw_rnn.named_parameters():
            getattr(both, name).copy_(parameter)
        for name, parameter in ours.bw_rnn.named_parameters():
            getattr(both, f"{name}_reverse").copy_(parameter)
    x = torch.randn(6, 2, 4)
    torch.testing.assert_close(ours(x), both(x)[0])


def test_focus_gathers_each_square_of_pixels() -> None:
    layer = contrib.Focus(3, 5, k=3).eval()
    assert set(layer.state_dict()) >= {"conv.conv.weight", "conv.bn.running_mean"}
    x = torch.randn(2, 3, 8, 6)
    squares = nn.functional.pixel_unshuffle(x, 2).reshape(2, 3, 2, 2, 4, 3)
    # Columns go slower than rows, and channels fastest.
    order = squares.permute(0, 3, 2, 1, 4, 5).reshape(2, 12, 4, 3)
    torch.testing.assert_close(layer(x), layer.conv(order))
    assert layer(x).shape == (2, 5, 4, 3)


@pytest.mark.parametrize("kind", ["FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d"])
def test_batch_norms_count_in_int32(kind: str) -> None:
    ours, its = getattr(contrib, kind)(4), getattr(nn, kind.removeprefix("Fast"))(4)
    x = torch.randn(3, 4, *[5] * int(kind[-2]))
    torch.testing.assert_close(ours(x), its(x))
    torch.testing.assert_close(ours.running_var, its.running_var)
    assert ours.num_batches_tracked.dtype is torch.int32 and int(ours.num_batches_tracked) == 1


def test_regions_get_a_gradient() -> None:
    x = torch.arange(64.0).reshape(1, 1, 8, 8).requires_grad_()
    rois = torch.tensor([[0.0, 0.0, 0.0, 8.0, 8.0]])
    found = contrib.ROIAlign((2, 2), 1.0, 2, aligned=True)(x, rois)
    # Bilinear samples of a plane are the plane: with the shift by half a pixel, the quarters' centres.
    rows = torch.tensor([1.5, 5.5])
    torch.testing.assert_close(found.reshape(2, 2), rows[:, None] * 8 + rows[None])
    found.sum().backward()
    assert math.isclose(float(x.grad.sum()), 4.0, rel_tol=1e-5)
    with pytest.raises(ValueError, match="rois"):
        contrib.ROIAlign((2, 2), 1.0, 2)(x, rois[:, :4])


def test_position_sensitive_pooling_needs_one_size() -> None:
    with pytest.raises(ValueError, match="group_size"):
        contrib.PSROIPool(pooled_height=3)


def test_roll() -> None:
    x = torch.randn(2, 4, 5, 3)
    torch.testing.assert_close(contrib.roll(x, (-1, 2), (1, 2)), x.roll((-1, 2), (1, 2)))
    with pytest.raises(ValueError, match="dim"):
        contrib.roll(x[0], (1, 1), (1, 2))


def test_small_functions() -> None:
    a, b = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    torch.testing.assert_close(contrib.matmul_transpose(a, b), torch.einsum("nik,njk->nij", a, b))
    expected = a.clone()
    expected[a < 0] = 2.5
    torch.testing.assert_close(contrib.npu_fast_condition_index_put(a, a < 0, 2.5), expected)
    with pytest.raises(TypeError):
        contrib.npu_fast_condition_index_put(a, (a < 0).int(), 2.5)


@pytest.mark.parametrize("height", [128, 6])
def test_fused_and_stepwise_softmax_agree(height: int) -> None:
    scores, mask = torch.randn(2, 16, height, 8), torch.randn(2, 16, height, 8)
    found = contrib.fuse_add_softmax_dropout(False, nn.Dropout(0.5).eval(), mask, scores, 64, p=0.5)
    torch.testing.assert_close(found, (scores / 8 + mask).softmax(-1))


def test_dropout_by_bytes() -> None:
    x = torch.ones(1000, requires_grad=True)
    found = contrib.DropoutWithByteMask(0.25)(x)
    kept = found != 0
    assert 600 < int(kept.sum()) < 900
    torch.testing.assert_close(found[kept], torch.full_like(found[kept], 1 / 0.75))
    found.sum().backward()
    torch.testing.assert_close(x.grad, found.detach())
    assert contrib.DropoutWithByteMask(0.25).eval()(x) is x
    with pytest.raises(ValueError, match="between 0 and 1"):
        contrib.DropoutWithByteMask(2)
    with pytest.raises(ValueError, match="in place"):
        contrib.DropoutWithByteMask(0.25, inplace=True)(x)


class Twice(nn.Module):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x), self.layer(x)


def test_drop_path_drops_what_was_drawn_ahead() -> None:
    contrib.NpuDropPath.task_dict.clear()
    model = Twice(contrib.NpuDropPath(0.5))
    x = torch.ones(400, 3)
    assert all(result is x for result in model(x))
    contrib.NpuDropPath.enable_droppath_ensemble(model)
    for result in model(x):
        rows = result[:, 0]
        assert set(rows.tolist()) == {0.0, 2.0} and 120 < int((rows == 0).sum()) < 280
        assert torch.equal(result, rows[:, None].expand_as(result))
    assert all(result is x for result in model.eval()(x))


def test_cached_dropout_drops_from_the_second_step_on() -> None:
    contrib.NpuCachedDropout.task_dict.clear()
    model = Twice(contrib.NpuFairseqDropout(0.5))
    contrib.NpuCachedDropout.enable_dropout_ensemble(model)
    x = torch.ones(2000)
    assert all(result is x for result in model(x))
    for result in model(x):
        assert set(result.tolist()) == {0.0, 2.0}


@quiet
def test_overlaps() -> None:
    one = torch.tensor([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 4.0, 4.0]])
    other = torch.tensor([[5.0, 0.0, 15.0, 10.0]])
    found = contrib.npu_iou(one, other, mode="iou")
    # The package gives boxes2 first to its operator.
    assert found.shape == torch.ops.npu.npu_iou(other, one).shape
    assert math.isclose(float(found.flatten()[0]), 50 / 150, abs_tol=0.05)
    with pytest.raises(ValueError, match="mode"):
        contrib.npu_iou(one, other, mode="giou")
    centred = torch.tensor([[5.0, 5.0, 10.0, 10.0]], requires_grad=True)
    moved = torch.tensor([[10.0, 5.0, 10.0, 10.0]])
    overlap = contrib.npu_giou(centred, moved)
    assert math.isclose(float(overlap.detach()), 50 / 150, abs_tol=1e-3)
    overlap.sum().backward()
    assert centred.grad is not None


def test_boxes_come_back_from_their_codes() -> None:
    anchors = torch.tensor([[0.0, 0.0, 10.0, 20.0], [3.0, 4.0, 30.0, 40.0]])
    true = torch.tensor([[1.0, 2.0, 12.0, 18.0], [5.0, 5.0, 20.0, 60.0]])
    codes = contrib.npu_bbox_coder_encode_xyxy2xywh(anchors, true, stds=[0.1, 0.1, 0.2, 0.2])
    back = contrib.npu_bbox_coder_decode_xywh2xyxy(anchors, codes, stds=[0.1, 0.1, 0.2, 0.2])
    torch.testing.assert_close(back, true, atol=1e-3, rtol=1e-3)
    with pytest.raises(ValueError, match="boxes"):
        contrib.npu_bbox_coder_encode_xyxy2xywh(anchors, true[:1])


def test_suppression_of_one_image_is_that_of_a_batch() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [1.0, 0, 11, 10], [50.0, 50, 60, 60]])
    scores = torch.tensor([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.0, 0.7, 0.0]])
    kept, classes = contrib.npu_multiclass_nms(boxes, scores, score_thr=0.3, nms_thr=0.5, max_num=4)
    assert kept.shape == (4, 5) and classes.shape == (4,)
    torch.testing.assert_close(kept[:2, :4], boxes[[0, 2]].half())
    torch.testing.assert_close(kept[:, 4].float(), torch.tensor([0.9, 0.7, 0.0, 0.0]), atol=1e-3, rtol=1e-3)
    assert classes[:2].tolist() == [0, 1]
    batch, _ = contrib.npu_batched_multiclass_nms(
        boxes.expand(2, 3, 4), scores.expand(2, 3, 3), score_thr=0.3, nms_thr=0.5, max_num=4
    )
    torch.testing.assert_close(batch[1], kept)
