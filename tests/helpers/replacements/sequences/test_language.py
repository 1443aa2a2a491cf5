"""masked_softmax, rotary_embedding, hadamard, ngram_block, causal_product, attention_softmax and gptq_matmul, by loops."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, differences, module, numbers, torch


def _softmax(row: list[float]) -> list[float]:
    top = max(row)
    made = [math.exp(one - top) for one in row]
    return [one / sum(made) for one in made]


# --- masked_softmax ---


@pytest.mark.parametrize(("queries", "keys", "masks"), [(1, 1, 1), (3, 5, 2), (4, 4, 1)])
def test_masked_softmax(queries: int, keys: int, masks: int) -> None:
    softmax, scores = module("masked_softmax"), numbers(2, 3, queries, keys, low=-4, high=4)
    mask = numbers(masks, 1, queries, keys, seed=1) > 0.2
    mask[0, 0, -1] = True  # a row with nothing left
    wanted, zeros, without = (torch.zeros_like(scores) for _ in range(3))
    for n, h, q in itertools.product(range(2), range(3), range(queries)):
        hidden = mask[n % masks, 0, q].tolist()
        row = [-10000.0 if off else one * 0.7 for one, off in zip(scores[n, h, q].tolist(), hidden, strict=True)]
        wanted[n, h, q] = torch.tensor(_softmax(row))
        zeros[n, h, q] = 0 if all(hidden) else wanted[n, h, q]
        left = [at for at in range(keys) if not hidden[at]]
        for at, one in zip(left, _softmax([row[at] for at in left]) if left else [], strict=True):
            without[n, h, q, at] = one
    for kind in (mask, mask.to(torch.uint8)):
        close(softmax.masked_forward(scores, kind, 0.7), wanted, 1e-6)
        close(softmax.masked_or_zero_forward(scores, kind, 0.7), zeros, 1e-6)
        close(softmax.generic_forward(scores, kind, 0.7), zeros, 1e-6)
        close(softmax.without_masked_forward(scores, kind, 0.7), without, 1e-6)


def test_scores_that_are_as_low_as_a_mask() -> None:
    """Where the forms of masked_softmax differ."""
    softmax, scores = module("masked_softmax"), torch.tensor([[[[-10000.0, -10001.0], [-20000.0, 5.0]]]])
    mask = torch.tensor([[[[False, True], [False, True]]]])
    assert softmax.masked_forward(scores, mask, 1.0)[0, 0].tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert softmax.masked_or_zero_forward(scores, mask, 1.0)[0, 0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert softmax.without_masked_forward(scores, mask, 1.0)[0, 0].tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert softmax.generic_forward(torch.tensor([[[[-9999.95, -10001.0]]]]), mask[:, :, :1], 1.0).sum() == 0


def test_the_other_forms_of_masked_softmax() -> None:
    softmax, scores = module("masked_softmax"), numbers(2, 4, 4, low=-4, high=4)
    wanted, triangle = torch.zeros_like(scores), torch.zeros_like(scores)
    for n, q in itertools.product(range(2), range(4)):
        row = [one * 0.5 for one in scores[n, q].tolist()]
        wanted[n, q] = torch.tensor(_softmax(row))
        triangle[n, q, : q + 1] = torch.tensor(_softmax(row[: q + 1]))
    close(softmax.scaled_forward(scores, 0.5), wanted, 1e-6)
    close(softmax.upper_forward(scores, 0.5), triangle, 1e-6)
    grad = numbers(2, 4, 4, seed=3)
    for call in (softmax.scaled_forward, softmax.upper_forward):
        made = softmax.backward(grad, call(scores, 0.5), 0.5)
        close(made, differences(lambda one, call=call: call(one, 0.5), [scores], 0, grad), 1e-6)
    assert softmax.upper_forward(scores.half(), 0.5).dtype == torch.float16


@pytest.mark.parametrize(
    ("keys", "wanted"), [(1, 256), (2, 128), (16, 16), (32, 8), (33, 8), (128, 8), (129, 4), (2048, 4)]
)
def test_rows_of_a_block(keys: int, wanted: int) -> None:
    """128 threads; warps of up to 32 take two rows of up to 128 keys, else one."""
    assert module("masked_softmax").get_batch_per_block(64, keys, 2, 4) == wanted


# --- rotary_embedding ---


@pytest.mark.parametrize("turned", [4, 6])
@pytest.mark.parametrize("transpose", [False, True])
def test_rotary_embedding(turned: int, transpose: bool) -> None:
    rotary, x, angles = module("rotary_embedding"), numbers(3, 2, 2, 6), numbers(3, 1, 1, turned, seed=1, high=5)

    def wanted(given: Any) -> Any:
        out, half = given.clone(), turned // 2
        for s, d in itertools.product(range(3), range(turned)):
            other = -given[s, :, :, d + half] if d < half else given[s, :, :, d - half]
            angle = angles[s, 0, 0, d].item()
            out[s, :, :, d] = given[s, :, :, d] * math.cos(angle) + other * math.sin(angle)
        return out

    out = rotary.forward(x, angles, transpose)
    close(out, wanted(x))
    assert out.transpose(0, 1).is_contiguous() == transpose
    close(rotary.forward_cached(x, torch.cos(angles), torch.sin(angles), transpose), wanted(x))
    grad = numbers(3, 2, 2, 6, seed=2)
    close(rotary.backward(grad, angles, transpose), differences(wanted, [x], 0, grad), 1e-6)
    made = rotary.backward_cached(grad, torch.cos(angles), torch.sin(angles), transpose)
    close(made, differences(wanted, [x], 0, grad), 1e-6)


# --- hadamard ---


@pytest.mark.parametrize("size", [1, 2, 8, 12, 32, 100])
def test_hadamard(size: int) -> None:
    x = numbers(2, 3, size)
    power = 1 << max(size - 1, 0).bit_length()
    sign = [[(-1) ** bin(i & j).count("1") for j in range(power)] for i in range(power)]
    matrix = torch.tensor(sign, dtype=torch.float64)[:size, :size]
    given = x.clone().requires_grad_()
    out = module("hadamard").fast_hadamard_transform(given, 0.25)
    close(out, x @ matrix * 0.25)
    grad = numbers(2, 3, size, seed=1)
    close(torch.autograd.grad(out, given, grad)[0], grad @ matrix.t() * 0.25)
    assert module("hadamard").fast_hadamard_transform(x.half(), 1.0).dtype == torch.float16


# --- ngram_block ---


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("step", [0, 1, 2, 5, 9])
def test_ngram_block(size: int, step: int) -> None:
    tokens = torch.randint(0, 3, (4, 10), generator=torch.Generator().manual_seed(step + size))
    lprobs = numbers(4, 5).float()
    wanted = lprobs.clone()
    for row in range(4):
        said = tokens[row, : step + 1].tolist()
        last = said[len(said) - (size - 1) :] if size > 1 else []
        for begin in range(len(said) - size + 1):
            if said[begin : begin + size - 1] == last:
                wanted[row, said[begin + size - 1]] = float("-inf")
    made = module("ngram_block").forward(tokens, lprobs, 2, step, 2, size)
    assert made.data_ptr() == lprobs.data_ptr()
    assert torch.equal(made, wanted)


# --- causal_product ---


def _product(q: Any, k: Any, v: Any) -> Any:
    out = torch.zeros(*q.shape[:3], v.shape[3], dtype=torch.float64)
    for i in range(q.shape[2]):
        for j in range(i + 1):
            out[:, :, i] += (q[:, :, i] * k[:, :, j]).sum(-1, keepdim=True) * v[:, :, j]
    return out


@pytest.mark.parametrize("time", [1, 5, 64, 130])
def test_causal_product(time: int) -> None:
    product, q, k = module("causal_product"), numbers(1, 2, time, 3), numbers(1, 2, time, 3, seed=1)
    v, out = numbers(1, 2, time, 4, seed=2), torch.empty(1, 2, time, 4, dtype=torch.float64)
    product.causal_dot_product(q, k, v, out)
    close(out, _product(q, k, v))
    grad, made = numbers(1, 2, time, 4, seed=3), [torch.empty_like(one) for one in (q, k, v)]
    product.causal_dot_backward(q, k, v, grad, *made)
    for which, one in enumerate(made):
        along(_product, [q, k, v], which, grad, one)


# --- attention_softmax ---


def test_attention_softmax() -> None:
    softmax, scores, values = module("attention_softmax"), numbers(2, 3, 3, low=-3, high=3), numbers(2, 3, 4, seed=1)
    made = scores.clone()
    softmax.forward_(made, 6, 3)
    wanted = torch.tensor([[_softmax(row) for row in one] for one in scores.tolist()], dtype=torch.float64)
    close(made, wanted)
    grad = numbers(2, 3, 4, seed=2)
    softmax.backward_(made, grad, values, 6, 3, 4)
    close(made, differences(lambda one: torch.softmax(one, -1) @ values, [scores], 0, grad), 1e-6)


# --- gptq_matmul ---


def _packed(whole: Any, bits: int) -> Any:
    """Along dimension 0, as one long number of bits, cut into words of 32."""
    rows, width = whole.shape
    words = torch.zeros(rows * bits // 32, width, dtype=torch.int64)
    for column in range(width):
        number = sum(int(one) << (bits * at) for at, one in enumerate(whole[:, column].tolist()))
        for word in range(len(words)):
            words[word, column] = (number >> (32 * word)) & 0xFFFFFFFF
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)


def _whole(rows: int, width: int, bits: int, seed: int) -> Any:
    return torch.randint(0, 2**bits, (rows, width), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_gptq_matmul_of_columns(bits: int) -> None:
    whole, vec = _whole(64, 5, bits, 1), numbers(64).float()
    scales, zeros, mul = numbers(5, 1, seed=2).float(), numbers(5, 1, seed=3).float(), numbers(5, seed=4).float()
    wanted = mul.double().clone()
    for row, column in itertools.product(range(64), range(5)):
        wanted[column] += (scales[column, 0] * whole[row, column] - zeros[column, 0]).item() * vec[row].item()
    getattr(module("gptq_matmul"), f"vecquant{bits}matmul")(vec, _packed(whole, bits), mul, scales, zeros)
    close(mul, wanted, 1e-4)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("masked", [False, True])
def test_gptq_matmul_of_groups(bits: int, masked: bool) -> None:
    gptq, whole, vec = module("gptq_matmul"), _whole(96, 64, bits, 1), numbers(2, 96).float()
    scales, taken = numbers(3, 64, seed=2).float(), _whole(3, 64, bits, 5)
    packed, rows = _packed(whole, bits), _packed(taken.t(), bits).t().contiguous()
    more = taken + 1 if not masked else (taken + 1) & 15
    start = "masked_" if masked else ""
    order = torch.randint(0, 3, (96,), generator=torch.Generator().manual_seed(7)).to(torch.int32)
    for name, last, of in (
        (f"{start}groups{bits}", 32, [row // 32 for row in range(96)]),
        (f"{start}order{bits}", order, order.tolist()),
    ):
        wanted = torch.zeros(2, 64, dtype=torch.float64)
        for row in range(96):
            weight = scales[of[row]].double() * (whole[row] - more[of[row]]).double()
            wanted += vec[:, row, None].double() * weight
        mul = torch.zeros(2, 64)
        getattr(gptq, name)(vec, packed, mul, scales, rows, last)
        close(mul, wanted, 1e-4)
        if bits < 8 and "groups" in name:
            half = torch.zeros(2, 64)
            getattr(gptq, f"{start}height{bits}")(vec.half(), packed, half, scales, rows, last, 96)
            close(half, wanted, 1e-2)


def test_groups_that_gptq_matmul_does_not_take() -> None:
    with pytest.raises(NotImplementedError):
        module("gptq_matmul").groups4(*[torch.zeros(1)] * 5, 24)
