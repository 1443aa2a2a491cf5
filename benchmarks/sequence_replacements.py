"""CPU seconds and memory of replacements for kernels of sequence models, beside the plain way to write them.

    python benchmarks/sequence_replacements.py [NAME...]

Each is run forward and backward, twice in a process of its own. The plain way is what a project would fall back to: a
loop over times, or torch's own operator. Numbers are those of a CPU, and say nothing of an NPU's speed.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from npuify.helpers import kernel_module

if TYPE_CHECKING:
    from collections.abc import Callable

TIME, CHANNELS, STATES = 1024, 64, 16


def _module(family: str) -> Any:
    return importlib.import_module(f"npuify.helpers.{kernel_module(family)}")


def _scan_given(torch: Any) -> list[Any]:
    torch.manual_seed(0)
    return [
        torch.randn(2, CHANNELS, TIME),
        torch.rand(2, CHANNELS, TIME),
        -torch.rand(CHANNELS, STATES),
        torch.randn(2, 1, STATES, TIME),
        torch.randn(2, 1, STATES, TIME),
    ]


def selective_scan(torch: Any, plain: bool) -> None:
    u, delta, a, b, c = given = _scan_given(torch)
    if not plain:
        out, states = _module("selective_scan").fwd(*given, None, None, None, False)
        _module("selective_scan").bwd(*given, None, None, None, out, states, None, None, False, False)
        return
    given = [one.requires_grad_() for one in given]
    state, outs = torch.zeros(2, CHANNELS, STATES), []
    for t in range(TIME):
        step = delta[..., t, None]
        state = torch.exp(step * a) * state + step * b[..., t] * u[..., t, None]
        outs.append((state * c[..., t]).sum(-1))
    torch.stack(outs, -1).sum().backward()


def causal_conv1d(torch: Any, plain: bool) -> None:
    x, weight, bias = torch.randn(2, CHANNELS, 16 * TIME), torch.randn(CHANNELS, 4), torch.randn(CHANNELS)
    if not plain:
        out = _module("causal_conv1d").fwd_with_states(x, weight, bias, None, None, None, True)
        _module("causal_conv1d").bwd_with_states(x, weight, bias, out, None, None, None, None, False, True)
        return
    given = [one.requires_grad_() for one in (x, weight, bias)]
    made = torch.nn.functional.conv1d(given[0], given[1][:, None], given[2], padding=3, groups=CHANNELS)
    torch.nn.functional.silu(made[..., : x.shape[2]]).sum().backward()


def wkv(torch: Any, plain: bool) -> None:
    w, u = -torch.rand(CHANNELS), torch.randn(CHANNELS)
    k, v = torch.randn(2, TIME, CHANNELS), torch.randn(2, TIME, CHANNELS)
    if not plain:
        y = torch.empty_like(k)
        _module("wkv").forward(2, TIME, CHANNELS, w, u, k, v, y)
        made = [torch.zeros(2, CHANNELS), torch.zeros(2, CHANNELS), torch.empty_like(k), torch.empty_like(v)]
        _module("wkv").backward(2, TIME, CHANNELS, w, u, k, v, y, *made)
        return
    w, u, k, v = (one.requires_grad_() for one in (w, u, k, v))
    above = below = torch.zeros(2, CHANNELS)
    outs = []
    for t in range(TIME):
        now = torch.exp(u + k[:, t])
        outs.append((above + now * v[:, t]) / (below + now))
        above = torch.exp(w) * above + torch.exp(k[:, t]) * v[:, t]
        below = torch.exp(w) * below + torch.exp(k[:, t])
    torch.stack(outs, 1).sum().backward()


def causal_product(torch: Any, plain: bool) -> None:
    q, k, v = (torch.randn(2, 4, TIME, 32) for _ in range(3))
    if not plain:
        out, made = torch.empty_like(v), [torch.empty_like(one) for one in (q, k, v)]
        _module("causal_product").causal_dot_product(q, k, v, out)
        _module("causal_product").causal_dot_backward(q, k, v, out, *made)
        return
    q, k, v = (one.requires_grad_() for one in (q, k, v))
    ((q @ k.transpose(-1, -2)).tril() @ v).sum().backward()


def layer_norm(torch: Any, plain: bool) -> None:
    x, weight, bias = torch.randn(8 * TIME, 512), torch.randn(512), torch.randn(512)
    if not plain:
        out, *told = _module("layer_norm").forward_affine(x, (512,), weight, bias, 1e-5)
        _module("layer_norm").backward_affine(out, *told, x, (512,), weight, bias, 1e-5, False)
        return
    given = [one.requires_grad_() for one in (x, weight, bias)]
    torch.nn.functional.layer_norm(given[0], (512,), *given[1:], 1e-5).sum().backward()


def masked_softmax(torch: Any, plain: bool) -> None:
    scores, mask = torch.randn(4, 8, 512, 512), torch.rand(4, 1, 512, 512) > 0.5
    if not plain:
        out = _module("masked_softmax").masked_forward(scores, mask, 0.5)
        _module("masked_softmax").backward(out, out, 0.5)
        return
    torch.softmax(scores.requires_grad_() * 0.5 + mask * -10000.0, -1).sum().backward()


RUNS: dict[str, Callable[[Any, bool], None]] = {
    one.__name__: one for one in (selective_scan, causal_conv1d, wkv, causal_product, layer_norm, masked_softmax)
}


def _measured(name: str, which: str) -> tuple[float, float]:
    """User CPU seconds of the second run in a process, and MiB that both took at most."""
    out = subprocess.check_output([sys.executable, __file__, "--one", which, name], text=True)
    seconds, memory = (float(one) for one in out.split())
    return seconds, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(RUNS))
    parser.add_argument("--one", choices=("plain", "replacement"))
    given = parser.parse_args()
    if given.one:
        import torch

        torch.set_num_threads(1)
        torch.nn.functional.silu(torch.randn(4, 4, requires_grad=True)).sum().backward()
        before = resource.getrusage(resource.RUSAGE_SELF)
        RUNS[given.names[0]](torch, given.one == "plain")
        between = resource.getrusage(resource.RUSAGE_SELF)
        RUNS[given.names[0]](torch, given.one == "plain")
        after = resource.getrusage(resource.RUSAGE_SELF)
        print(after.ru_utime - between.ru_utime, (after.ru_maxrss - before.ru_maxrss) / 1024)
        return
    print("| family | replacement, CPU s | plain, CPU s | replacement, MiB | plain, MiB |\n|---|---|---|---|---|")
    for name in given.names:
        (seconds, memory), (of_plain, memory_of_plain) = (_measured(name, one) for one in ("replacement", "plain"))
        print(f"| {name} | {seconds:.2f} | {of_plain:.2f} | {memory:.0f} | {memory_of_plain:.0f} |", flush=True)


if __name__ == "__main__":
    main()
