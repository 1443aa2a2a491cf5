"""What takes the place of flash_attn's rotary embeddings, norms and losses, against their formulas."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from npuify.helpers.packages import activations, losses, norms, rotary
from tests.helpers.replacements.common import close, differences, numbers, torch

# --- rotary embeddings: a pair of numbers is a complex number, turned by an angle ---


def _tables(length: int, half: int, seed: int = 4) -> tuple[Any, Any, Any]:
    angle = numbers(length, half, seed=seed, high=3.0)
    return angle, angle.cos(), angle.sin()


def _turned(x: Any, angle: Any, interleaved: bool) -> Any:
    """One head of one place, by complex numbers."""
    half = len(angle)
    rotated, rest = x[: 2 * half], x[2 * half :]
    pairs = rotated.reshape(half, 2) if interleaved else rotated.reshape(2, half).T
    made = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_real(made)
    return torch.cat((pairs.reshape(-1) if interleaved else pairs.T.reshape(-1), rest))


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("offsets", [0, 2, [3, 1]])
def test_rotary(interleaved: bool, offsets: int | list[int]) -> None:
    x, (angle, cos, sin) = numbers(2, 5, 3, 10), _tables(8, 4)
    given = torch.tensor(offsets) if isinstance(offsets, list) else offsets
    made = rotary.apply_rotary_emb(x, cos, sin, interleaved, seqlen_offsets=given)
    for row in range(2):
        shift = offsets[row] if isinstance(offsets, list) else offsets
        for place in range(5):
            for head in range(3):
                close(made[row, place, head], _turned(x[row, place, head], angle[place + shift], interleaved))
    taken = x.clone().requires_grad_()
    weight = numbers(2, 5, 3, 10, seed=8)
    (rotary.apply_rotary_emb(taken, cos, sin, interleaved, seqlen_offsets=given) * weight).sum().backward()
    # A rotation's gradient is the rotation back.
    back = rotary.apply_rotary(weight, cos, sin, given, interleaved=interleaved, conjugate=True)
    close(taken.grad, back)
    close(rotary.apply_rotary(back, cos, sin, given, interleaved=interleaved), weight)


def test_rotary_of_sequences_behind_each_other() -> None:
    x, (_, cos, sin) = numbers(6, 3, 8), _tables(8, 4)
    begins = torch.tensor([0, 4, 4, 6], dtype=torch.int32)
    made = rotary.apply_rotary_emb(x, cos, sin, cu_seqlens=begins, max_seqlen=4)
    for start, end in ((0, 4), (4, 6)):
        close(made[start:end], rotary.apply_rotary_emb(x[start:end].unsqueeze(0), cos, sin)[0])
    shifted = rotary.apply_rotary_emb(
        x, cos, sin, seqlen_offsets=torch.tensor([1, 0, 6]), cu_seqlens=begins, max_seqlen=4
    )
    close(shifted[:4], rotary.apply_rotary_emb(x[:4].unsqueeze(0), cos, sin, seqlen_offsets=1)[0])
    close(shifted[4:], rotary.apply_rotary_emb(x[4:].unsqueeze(0), cos, sin, seqlen_offsets=6)[0])


def test_rotary_in_place_and_in_half_precision() -> None:
    x, (_, cos, sin) = numbers(1, 4, 2, 8), _tables(4, 4)
    wanted = rotary.apply_rotary_emb(x, cos, sin)
    held = x.clone()
    assert rotary.apply_rotary_emb(held, cos, sin, inplace=True) is held
    close(held, wanted)
    small = rotary.apply_rotary_emb(x.bfloat16(), cos.bfloat16(), sin.bfloat16())
    exact = rotary.apply_rotary_emb(x.bfloat16().double(), cos.bfloat16().double(), sin.bfloat16().double())
    assert torch.equal(small, exact.float().bfloat16())


@pytest.mark.parametrize("scale_base", [None, 512])
def test_rotary_layer(scale_base: int | None) -> None:
    layer = rotary.RotaryEmbedding(8, scale_base=scale_base)
    qkv = numbers(2, 6, 3, 2, 10)
    angle = torch.arange(8.0).unsqueeze(1) * 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    power = (torch.arange(8.0) - 4) / (scale_base or 1)
    scale = ((torch.arange(0, 8, 2) + 0.4 * 8) / (1.4 * 8)) ** power.unsqueeze(1) if scale_base else torch.ones(8, 4)
    tables = [angle.cos() * scale, angle.sin() * scale, angle.cos() / scale, angle.sin() / scale]
    made = layer(qkv.clone(), seqlen_offset=2)
    close(made[:, :, 0], rotary.apply_rotary_emb_torch(qkv[:, :, 0], *(one[2:8].double() for one in tables[:2])), 1e-6)
    close(made[:, :, 1], rotary.apply_rotary_emb_torch(qkv[:, :, 1], *(one[2:8].double() for one in tables[2:])), 1e-6)
    assert torch.equal(made[:, :, 2], qkv[:, :, 2])
    q, kv = layer(qkv[:, :, 0].clone(), qkv[:, :, 1:].clone(), seqlen_offset=2)
    close(q, made[:, :, 0])
    close(kv, made[:, :, 1:])
    groups = torch.cat((qkv[:, :, 0], qkv[:, :, 1, :1], qkv[:, :, 2, :1]), dim=2)
    close(
        layer(groups.clone(), seqlen_offset=2, num_heads_q=2)[:, :, :3],
        torch.cat((made[:, :, 0], made[:, :, 1, :1]), 2),
    )
    assert [name for name, _ in layer.named_buffers()] == (["inv_freq", "scale"] if scale_base else ["inv_freq"])
    assert not layer.state_dict()


# --- cross entropy ---


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(smoothing: float, reduction: str) -> None:
    logits, labels = numbers(5, 7, low=-4, high=4), torch.tensor([1, 6, -100, 0, 3])
    made = losses.CrossEntropyLoss(reduction=reduction, label_smoothing=smoothing)(logits, labels)
    wanted = torch.nn.functional.cross_entropy(logits, labels, reduction=reduction, label_smoothing=smoothing)
    close(made, wanted)
    given = logits.clone().requires_grad_()
    losses.CrossEntropyLoss(label_smoothing=smoothing, logit_scale=0.5, lse_square_scale=0.01)(given, labels).backward()

    def formula(x: Any) -> Any:
        kept = labels != -100
        scores = 0.5 * x[kept]
        normalizer = scores.exp().sum(1).log()
        right = scores[torch.arange(4), labels[kept]]
        each = normalizer - (1 - smoothing) * right - smoothing * scores.mean(1) + 0.01 * normalizer**2
        return each.mean()

    close(
        losses.CrossEntropyLoss(label_smoothing=smoothing, logit_scale=0.5, lse_square_scale=0.01)(logits, labels),
        formula(logits),
    )
    close(given.grad, differences(formula, [logits], 0, torch.tensor(1.0)), 1e-7)


def test_cross_entropy_of_half_precision_and_its_normalizer() -> None:
    logits, labels = numbers(4, 9).bfloat16(), torch.tensor([0, 8, 2, 5], dtype=torch.int32)
    loss, squares = losses.CrossEntropyLoss(lse_square_scale=0.1, return_z_loss=True, inplace_backward=True)(
        logits, labels
    )
    assert loss.dtype == torch.float32
    close(squares, (0.1 * logits.double().logsumexp(1) ** 2).mean(), 1e-5)
    close(loss - squares, torch.nn.functional.cross_entropy(logits.double(), labels.long()), 1e-5)
    with pytest.raises(NotImplementedError):
        losses.CrossEntropyLoss(reduction="batchmean")


# --- norms ---


@pytest.mark.parametrize("is_rms", [False, True])
@pytest.mark.parametrize("has_residual", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_norms(is_rms: bool, has_residual: bool, has_bias: bool) -> None:
    x, weight = numbers(3, 4, 6), numbers(6, seed=1)
    bias = numbers(6, seed=2) if has_bias else None
    residual = numbers(3, 4, 6, seed=3) if has_residual else None

    def formula(x: Any) -> Any:
        total = x if residual is None else x + residual
        mean = 0 if is_rms else total.mean(-1, keepdim=True)
        scaled = (total - mean) / (((total - mean) ** 2).mean(-1, keepdim=True) + 1e-3).sqrt() * weight
        return scaled if bias is None else scaled + bias

    made, total = norms.layer_norm_fn(x, weight, bias, residual, eps=1e-3, prenorm=True, is_rms_norm=is_rms)
    close(made, formula(x))
    close(total, x if residual is None else x + residual)
    same = (norms.dropout_add_rms_norm if is_rms else norms.dropout_add_layer_norm)(
        x, residual, weight, bias, 0.0, 1e-3
    )
    assert torch.equal(same, made)
    given = x.clone().requires_grad_()
    (norms.layer_norm_fn(given, weight, bias, residual, eps=1e-3, is_rms_norm=is_rms) * x).sum().backward()
    close(given.grad, differences(formula, [x], 0, x), 1e-6)


def test_types_of_norms() -> None:
    x, residual = numbers(2, 6).bfloat16(), numbers(2, 6, seed=1).float()
    layer = norms.RMSNorm(6, zero_centered_weight=True, dtype=torch.bfloat16)
    assert list(layer.state_dict()) == ["weight"]
    made, total = layer(x, residual, prenorm=True)
    assert (made.dtype, total.dtype) == (torch.bfloat16, torch.float32)
    close(total, x.float() + residual)
    close(made, torch.nn.functional.rms_norm(total, (6,), eps=1e-5).bfloat16())
    assert layer(x, prenorm=True, residual_in_fp32=True)[1].dtype == torch.float32
    assert layer(x, prenorm=True)[1].dtype == torch.bfloat16
    rows = numbers(2, seed=5)
    close(
        norms.rms_norm_fn(numbers(2, 6), torch.ones(6), None, rowscale=rows, eps=0.0),
        torch.nn.functional.rms_norm(numbers(2, 6) * rows.unsqueeze(1), (6,), eps=0.0),
    )


def test_dropout_before_the_residual() -> None:
    torch.manual_seed(0)
    x, residual = torch.ones(200, 50), torch.full((200, 50), 5.0)
    _, total = norms.layer_norm_fn(x, torch.ones(50), None, residual, dropout_p=0.25, prenorm=True)
    values, counts = total.unique(return_counts=True)
    assert values.tolist() == pytest.approx([5.0, 5 + 1 / 0.75])
    assert counts[0] / x.numel() == pytest.approx(0.25, abs=0.02)
    layer = norms.RMSNorm(50, dropout_p=0.9).eval()
    assert torch.equal(layer(x), norms.RMSNorm(50)(x))


def test_swiglu() -> None:
    x, y = numbers(3, 4, low=-5, high=5), numbers(3, 4, seed=1)
    close(activations.swiglu(x, y), x / (1 + (-x).exp()) * y)
    small = activations.swiglu(x.half(), y.half())
    assert torch.equal(small, (torch.nn.functional.silu(x.half().float()) * y.half().float()).half())
