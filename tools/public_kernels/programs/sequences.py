"""Scans, convolutions over time, recurrences and transducers."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from tools.public_kernels.beside import DEVICE, beside, far, given, module, stand_in

if TYPE_CHECKING:
    from pathlib import Path


def _scan_inputs(channels: int = 6, states: int = 4, length: int = 300) -> tuple[Any, ...]:
    return (
        given(2, channels, length),
        given(2, channels, length, low=-2, high=0.5),
        -given(channels, states, low=0.2, high=2),
        given(2, 1, states, length),
        given(2, 1, states, length),
        given(channels),
    )


def _without_triton() -> None:
    for name in ("layer_norm", "ssd_combined", "selective_state_update", "layernorm_gated"):
        stand_in(f"mamba_ssm.ops.triton.{name}", _layer_norm_fwd=None, layer_norm_fn=None, rms_norm_fn=None)


def mamba(root: Path) -> float:
    _without_triton()
    scan = module(root, "mamba_ssm.ops.selective_scan_interface", "mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton")
    u, delta, a, b, c, d = _scan_inputs()
    bias, z = given(6), given(2, 6, 300)

    def double(u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any, z: Any, bias: Any) -> Any:
        """The recurrence, time by time."""
        step = functional.softplus(delta + bias[:, None])
        state, made = torch.zeros(2, 6, 4, dtype=u.dtype), []
        for t in range(u.shape[-1]):
            grown = torch.exp(step[..., t, None] * a)
            state = grown * state + (step[..., t] * u[..., t])[..., None] * b[:, :, :, t]
            made.append((state * c[:, :, :, t]).sum(-1))
        whole = torch.stack(made, -1) + u * d[:, None]
        return whole if z is None else whole * functional.silu(z)

    def ours(u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any, z: Any, bias: Any) -> Any:
        return scan.selective_scan_fn(u, delta, a, b, c, d, z, bias, delta_softplus=True)

    plain = beside(ours, double, u, delta, a, b, c, d, None, bias)
    return max(plain, beside(ours, double, u, delta, a, b, c, d, z, bias))


def vim(root: Path) -> float:
    return mamba(root / "mamba-1p1p1")


def vmamba(root: Path) -> float:
    scans = module(root / "classification" / "models", "csms6s")
    u, delta, a, b, c, d = _scan_inputs()
    bias, worst = given(6), 0.0
    for backend in ("oflex", "core"):

        def ours(*args: Any, backend: str = backend) -> Any:
            return scans.selective_scan_fn(*args, delta_softplus=True, oflex=True, backend=backend)

        def theirs(u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any, bias: Any) -> Any:
            step = functional.softplus(delta + bias[:, None])
            state, made = torch.zeros(2, 6, 4, dtype=u.dtype), []
            for t in range(u.shape[-1]):
                state = torch.exp(step[..., t, None] * a) * state
                state = state + (step[..., t] * u[..., t])[..., None] * b[:, :, :, t]
                made.append((state * c[:, :, :, t]).sum(-1))
            return torch.stack(made, -1) + u * d[:, None]

        worst = max(worst, beside(ours, theirs, u, delta, a, b, c, d, bias))
    return worst


def causal_conv1d(root: Path) -> float:
    conv = module(root, "causal_conv1d.causal_conv1d_interface")

    def padded(x: Any, weight: Any, bias: Any) -> Any:
        made = functional.conv1d(functional.pad(x, (weight.shape[1] - 1, 0)), weight[:, None], bias, groups=x.shape[1])
        return functional.silu(made)

    x, weight, bias = given(2, 8, 70), given(8, 4), given(8)
    worst = beside(lambda *args: conv.causal_conv1d_fn(*args, activation="silu"), padded, x, weight, bias)
    state, step = given(2, 8, 3), given(2, 8)
    meant = padded(torch.cat([state, step[..., None]], -1).double(), weight.double(), bias.double())[..., -1]
    kept = state.to(DEVICE)
    made = conv.causal_conv1d_update(step.to(DEVICE), kept, weight.to(DEVICE), bias.to(DEVICE), "silu")
    return max(worst, far(made, meant), far(kept, torch.cat([state, step[..., None]], -1)[..., 1:]))


def sru(root: Path) -> float:
    """Beside the project's own form in PyTorch, which it takes on the CPU."""
    import torch.utils.cpp_extension

    # What is built for inference on the CPU is not asked for; its name has to be there.
    torch.utils.cpp_extension.load = lambda *_, **__: None  # type: ignore[assignment]
    taken = "Tensor u, Tensor x, Tensor w, Tensor b, Tensor c, Tensor? m, int l, int n, int h, int k, int a, bool s, "
    library = torch.library.Library("sru_cpu", "DEF")
    for name in ("cpu_forward", "cpu_bi_forward"):
        library.define(f"{name}({taken}float f, bool o) -> Tensor[]")
    layers, worst = module(root, "sru"), 0.0
    for options in ({}, {"bidirectional": True}, {"layer_norm": True, "use_tanh": True, "rescale": True}):
        layer = layers.SRU(6, 5, num_layers=2, **options)
        double = copy.deepcopy(layer).double()
        layer = layer.to(DEVICE)
        worst = max(worst, beside(layer, double, given(11, 3, 6)))
        ours = dict(layer.named_parameters())
        for name, one in double.named_parameters():
            worst = max(worst, far(ours[name].grad, one.grad))
    return worst


def warp_rnnt(root: Path) -> float:
    stand_in("pkg_resources", get_distribution=lambda _: type("Version", (), {"version": "0"}))
    rnnt = module(root / "pytorch_binding", "warp_rnnt")
    scores = given(3, 9, 5, 7, low=-2, high=2).log_softmax(-1)
    words = torch.randint(1, 7, (3, 4), dtype=torch.int32)
    frames, lengths = torch.tensor([9, 6, 4], dtype=torch.int32), torch.tensor([4, 2, 3], dtype=torch.int32)

    def loop(scores: Any) -> Any:
        made = []
        for n in range(3):
            at: dict[tuple[int, int], Any] = {}
            for t in range(int(frames[n])):
                for u in range(int(lengths[n]) + 1):
                    ways = [at[t - 1, u] + scores[n, t - 1, u, 0]] if t else []
                    ways += [at[t, u - 1] + scores[n, t, u - 1, int(words[n, u - 1])]] if u else []
                    at[t, u] = torch.logsumexp(torch.stack(ways), 0) if ways else scores.new_zeros(())
            t, u = int(frames[n]) - 1, int(lengths[n])
            made.append(-(at[t, u] + scores[n, t, u, 0]))
        return torch.stack(made)

    def packed(whole: Any) -> Any:
        return torch.cat([whole[n, : int(frames[n]), : int(lengths[n]) + 1].reshape(-1, 7) for n in range(3)])

    sizes = [one.to(DEVICE) for one in (words, frames, lengths)]
    worst = max(
        beside(lambda x, gather=gather: rnnt.rnnt_loss(x, *sizes, gather=gather), loop, scores)
        for gather in (False, True)
    )
    row = torch.cat([words[n, : int(lengths[n])] for n in range(3)]).to(DEVICE)
    return max(worst, beside(lambda x: rnnt.rnnt_loss(packed(x), row, sizes[1], sizes[2], compact=True), loop, scores))


def fast_transformers(root: Path) -> float:
    cpu = "fast_transformers.causal_product.causal_product_cpu"
    stand_in(cpu, causal_dot_product=None, causal_dot_backward=None)
    product = module(root, "fast_transformers.causal_product", "fast_transformers")

    def masked(q: Any, k: Any, v: Any) -> Any:
        return (q @ k.transpose(-1, -2)).tril() @ v

    return beside(product.causal_dot_product, masked, given(2, 3, 130, 8), given(2, 3, 130, 8), given(2, 3, 130, 6))


def hadamard(root: Path) -> float:
    transform = module(root, "fast_hadamard_transform.fast_hadamard_transform_interface", "fast_hadamard_transform")
    worst = 0.0
    for size in (64, 100, 1024):
        whole = 1 << (size - 1).bit_length()
        matrix = torch.ones(1, 1, dtype=torch.float64)
        while len(matrix) < whole:
            matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
        matrix = matrix[:size, :size]
        ours = lambda x: transform.hadamard_transform(x, 0.5)  # noqa: E731
        worst = max(worst, beside(ours, lambda x, m=matrix: x @ m * 0.5, given(5, size)))
    return worst


def s4(root: Path) -> float:
    cauchy, vandermonde = (module(root, f"extensions.kernels.{one}") for one in ("cauchy", "vandermonde"))
    v, w = (torch.complex(given(3, 8), given(3, 8, low=0.5)) for _ in range(2))
    z = torch.exp(torch.complex(torch.zeros(21), torch.linspace(0.1, 3, 21)))

    def sums(v: Any, w: Any) -> Any:
        z_ = z.to(v)
        return ((v[:, None] / (z_[:, None] - w[:, None])) + v.conj()[:, None] / (z_[:, None] - w.conj()[:, None])).sum(
            -1
        )

    worst = _complex(lambda v, w: cauchy.cauchy_mult(v, z.to(DEVICE), w), sums, v, w)
    x = torch.complex(given(3, 8, low=-0.5, high=-0.1), given(3, 8))

    def powers(v: Any, x: Any) -> Any:
        return 2 * (v[..., None] * torch.exp(x[..., None] * torch.arange(17).to(x))).sum(-2).real

    return max(worst, _complex(lambda v, x: vandermonde.log_vandermonde_cuda(v, x, 17), powers, v, x))


def _complex(function: Any, reference: Any, *inputs: Any) -> float:
    """:func:`beside` of complex numbers, given as their two parts."""

    def whole(side: Any) -> Any:
        def run(*parts: Any) -> Any:
            made = side(*(torch.complex(*one) for one in zip(parts[::2], parts[1::2], strict=True)))
            return (made.real, made.imag) if made.is_complex() else made

        return run

    parts = [half.contiguous() for one in inputs for half in (one.real, one.imag)]
    return beside(whole(function), whole(reference), *parts)


PROGRAMS = {
    "state-spaces/mamba": mamba,
    "hustvl/Vim": vim,
    "MzeroMiko/VMamba": vmamba,
    "Dao-AILab/causal-conv1d": causal_conv1d,
    "asappresearch/sru": sru,
    "1ytic/warp-rnnt": warp_rnnt,
    "idiap/fast-transformers": fast_transformers,
    "Dao-AILab/fast-hadamard-transform": hadamard,
    "state-spaces/s4": s4,
}
