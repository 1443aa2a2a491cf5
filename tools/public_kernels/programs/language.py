"""Attention scores, quantized weights, activations, routing and decoding of language models."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from tools.public_kernels.beside import DEVICE, beside, far, given, module, stand_in

if TYPE_CHECKING:
    from pathlib import Path


def _softmaxes(scores: Any) -> float:
    """Megatron's two autograd functions, in bfloat16."""
    mask = torch.rand(2, 1, 16, 32) < 0.3
    mask[..., 0] = False

    def masked(x: Any) -> Any:
        return torch.softmax((x * 0.5).masked_fill(mask, float("-inf")), -1)

    def causal(x: Any) -> Any:
        later = torch.ones(32, 32, dtype=torch.bool).triu(1)
        return torch.softmax((x * 0.5).masked_fill(later, float("-inf")), -1)

    ours = lambda x: scores.ScaledMaskedSoftmax.apply(x, mask.to(DEVICE), 0.5)  # noqa: E731
    worst = beside(ours, masked, given(2, 4, 16, 32, low=-3, high=3), kind=torch.bfloat16)
    ours = lambda x: scores.ScaledUpperTriangMaskedSoftmax.apply(x, 0.5)  # noqa: E731
    return max(worst, beside(ours, causal, given(8, 32, 32, low=-3, high=3), kind=torch.bfloat16))


def gpt_neox(root: Path) -> float:
    packages = ("megatron", "megatron.model", "megatron.fused_kernels")
    return _softmaxes(module(root, "megatron.model.fused_softmax", *packages[:2]))


def megatron(root: Path) -> float:
    stand_in("megatron.model.enums", AttnMaskType=type("AttnMaskType", (), {"padding": 1, "causal": 2}))
    return _softmaxes(module(root, "megatron.model.fused_softmax", "megatron", "megatron.model"))


def auto_gptq(root: Path) -> float:
    stand_in("transformers")
    stand_in("transformers.pytorch_utils", Conv1D=torch.nn.Linear)
    layers = module(
        root, "auto_gptq.nn_modules.qlinear.qlinear_cuda_old", "auto_gptq", "auto_gptq.nn_modules",
        "auto_gptq.nn_modules.qlinear",
    )  # fmt: skip
    worst = 0.0
    for bits in (2, 3, 4, 8):
        layer = layers.QuantLinear(bits, 64, 128, 64, True, use_cuda_fp16=False, weight_dtype=torch.float32)
        assert layer.autogptq_cuda_available
        # Of a zero and one the kernels keep four bits.
        weights, zeros = torch.randint(0, 2**bits, (128, 64)), torch.randint(0, min(2**bits - 1, 14), (2, 64))
        layer.qweight = _packed(weights, bits)
        layer.qzeros = _packed(zeros.t(), bits).t().contiguous()
        layer.scales, layer.bias = given(2, 64), given(64)
        group = torch.arange(128) // 64
        whole = layer.scales.double()[group] * (weights - zeros[group] - 1)
        x = given(5, 128)
        meant = x.double() @ whole + layer.bias.double()
        worst = max(worst, far(layer.to(DEVICE)(x.to(DEVICE)), meant))
    return worst


def _packed(values: Any, bits: int) -> Any:
    """Numbers of so many bits one behind the other, in words of 32 bits along the first dimension."""
    rows, columns = values.shape
    stream = torch.stack([(values >> bit) & 1 for bit in range(bits)], 1).reshape(rows * bits // 32, 32, columns)
    words = (stream << torch.arange(32)[:, None]).sum(1)
    return torch.where(words >= 2**31, words - 2**32, words).int()


def openfold(root: Path) -> float:
    core = module(root, "openfold.utils.kernel.attention_core", "openfold", "openfold.utils", "openfold.utils.kernel")

    def plain(q: Any, k: Any, v: Any, one: Any, two: Any) -> Any:
        return torch.softmax(q @ k.transpose(-1, -2) + one + two, -1) @ v

    tensors = [given(2, 3, 20, 8) for _ in range(3)]
    return beside(core.attention_core, plain, *tensors, given(2, 1, 1, 20), given(1, 3, 20, 20))


def fairseq(root: Path) -> float:
    blocks = module(root, "fairseq.ngram_repeat_block", "fairseq")
    assert blocks.EXTENSION_BUILT
    tokens, scores = torch.randint(0, 4, (6, 20)), given(6, 9)
    block = blocks.NGramRepeatBlock(3)
    assert block.use_extension
    worst = 0.0
    for step in (2, 7, 18):
        made = block(tokens.to(DEVICE), scores.clone().to(DEVICE), 3, 2, step)
        meant = scores.clone()
        for row in range(6):
            seen = tokens[row, : step + 1].tolist()
            for at in range(step - 1):
                if seen[at : at + 2] == seen[-2:]:
                    meant[row, seen[at + 2]] = float("-inf")
        worst = max(worst, far(made, meant))
    return worst


def sarathi(root: Path) -> float:
    layers = module(
        root, "sarathi.model_executor.layers.activation", "sarathi", "sarathi.model_executor",
        "sarathi.model_executor.layers",
    )  # fmt: skip
    tanh = lambda x: functional.gelu(x, approximate="tanh")  # noqa: E731
    x = given(37, 64, low=-3, high=3)

    def gated(x: Any) -> Any:
        return functional.silu(x[:, :32]) * x[:, 32:]

    pairs = ((layers.SiluAndMul(), gated), (layers.NewGELU(), tanh), (layers.FastGELU(), tanh))
    return max(beside(ours, theirs, x, backward=False) for ours, theirs in pairs)


def fastmoe(root: Path) -> float:
    functions = module(root, "fmoe.functions", "fmoe")
    linear = module(root, "fmoe.linear")
    gate, experts = torch.randint(0, 4, (11,)), linear.FMoELinear(4, 6, 5).to(DEVICE)
    weight, bias = (one.detach().cpu().double() for one in (experts.weight, experts.bias))
    pos, local, whole = functions.count_by_gate(gate.to(DEVICE), 4, 1)

    def ours(x: Any) -> Any:
        sent = functions.MOEScatter.apply(x, pos, local, whole, len(gate), 1)
        return functions.MOEGather.apply(experts(sent, whole.cpu()), pos, local, whole, len(gate), 1)

    def loop(x: Any) -> Any:
        return torch.stack([weight[e] @ row + bias[e] for row, e in zip(x, gate.tolist(), strict=True)])

    return beside(ours, loop, given(11, 6))


def fused_ops(root: Path) -> float:
    losses = module(root, "fused_ops.xentropy_module.softmax_xentropy", "fused_ops", "fused_ops.xentropy_module")
    labels = torch.randint(0, 50, (9,))

    def ours(x: Any) -> Any:
        return losses.softmax_cross_entropy_loss(x, labels.to(DEVICE), 3, False)

    def theirs(x: Any) -> Any:
        return functional.cross_entropy(x, labels, reduction="none").masked_fill(labels == 3, 0)

    return beside(ours, theirs, given(9, 50, low=-4, high=4))


def _rwkv(folder: Path, version: str) -> Any:
    """The model's module, which defines the kernels of the version that the environment names."""
    os.environ.update(RWKV_T_MAX="64", RWKV_CTXLEN="64", RWKV_JIT_ON="0", RWKV_FLOAT_MODE="fp32", RWKV_HEAD_SIZE_A="64")
    os.environ.update(RWKV_MY_TESTING=version, RWKV_TRAIN_TYPE="")
    os.chdir(folder)
    names = {"LightningModule": torch.nn.Module, "rank_zero_info": print}
    for name in ("pytorch_lightning", "pytorch_lightning.utilities", "pytorch_lightning.strategies"):
        stand_in(name, rank_zero_only=None, DeepSpeedStrategy=None, **names)
    found = module(folder, "src.model", "src")
    return importlib.reload(found)


def rwkv4(root: Path) -> float:
    model = _rwkv(root / "RWKV-v4neo", "")
    batch, length, channels = 2, 40, 32

    def loop(w: Any, u: Any, k: Any, v: Any) -> Any:
        w, made = -torch.exp(w), []
        for at in range(length):
            back = at - 1 - torch.arange(at, dtype=w.dtype)
            logits = torch.cat([k[:, :at] + w * back[:, None], (k[:, at] + u)[:, None]], 1)
            made.append((torch.softmax(logits, 1) * v[:, : at + 1]).sum(1))
        return torch.stack(made, 1)

    ours = lambda *args: model.RUN_CUDA(batch, length, channels, *args)  # noqa: E731
    sizes = (channels,), (channels,), (batch, length, channels), (batch, length, channels)
    return beside(ours, loop, *(given(*one) for one in sizes))


def rwkv_heads(root: Path) -> float:
    """Versions 5 to 7, in bfloat16."""
    folder, size = root / "RWKV-v5", (2, 48, 2, 64)

    def whole(one: Any) -> Any:
        return one.reshape(2, 48, 128).contiguous()

    def loop(r: Any, k: Any, v: Any, w: Any, u: Any) -> Any:
        """One matrix for each head, time by time; the decay may be of each time."""
        w = torch.exp(-torch.exp(w)).expand(size)
        state, made = torch.zeros(2, 2, 64, 64, dtype=r.dtype), []
        for t in range(48):
            new = k[:, t, :, :, None] * v[:, t, :, None]
            made.append((r[:, t, :, :, None] * (state + u[:, :, None] * new)).sum(2))
            state = w[:, t, :, :, None] * state + new
        return torch.stack(made, 1)

    def delta(w: Any, q: Any, k: Any, v: Any, z: Any, b: Any) -> Any:
        state, made = torch.zeros(2, 2, 64, 64, dtype=q.dtype), []
        for t in range(48):
            decay = torch.exp(-torch.exp(w[:, t]))[:, :, None]
            state = state * decay + (state @ z[:, t, :, :, None]) * b[:, t, :, None]
            state = state + v[:, t, :, :, None] * k[:, t, :, None]
            made.append((state @ q[:, t, :, :, None])[..., 0])
        return torch.stack(made, 1)

    five = _rwkv(folder, "x052")
    ours = lambda r, k, v, w, u: five.RUN_CUDA_RWKV5(  # noqa: E731
        2, 48, 128, 2, whole(r), whole(k), whole(v), w, u
    ).reshape(size)
    some = [given(*size, low=-0.4, high=0.4) for _ in range(3)]
    worst = beside(ours, loop, *some, given(2, 64), given(2, 64), kind=torch.bfloat16)
    six = _rwkv(folder, "x060")
    ours = lambda r, k, v, w, u: six.RUN_CUDA_RWKV6(whole(r), whole(k), whole(v), whole(w), u).reshape(size)  # noqa: E731
    worst = max(worst, beside(ours, loop, *some, given(*size), given(2, 64), kind=torch.bfloat16))
    seven = _rwkv(folder, "x070")
    z, b = (functional.normalize(given(*size), dim=-1) for _ in range(2))
    apply = seven.WindBackstepping.apply
    return max(worst, beside(apply, delta, given(*size), *some, -z, b, kind=torch.bfloat16))


PROGRAMS = {
    "EleutherAI/gpt-neox": gpt_neox,
    "NVIDIA/Megatron-LM (February 2022)": megatron,
    "bigscience-workshop/Megatron-DeepSpeed": megatron,
    "AutoGPTQ/AutoGPTQ": auto_gptq,
    "aqlaboratory/openfold": openfold,
    "facebookresearch/fairseq": fairseq,
    "microsoft/sarathi-serve": sarathi,
    "laekov/fastmoe": fastmoe,
    "guolinke/fused_ops": fused_ops,
    "BlinkDL/RWKV-LM (version 4neo)": rwkv4,
    "BlinkDL/RWKV-LM (versions 5 to 7)": rwkv_heads,
}
