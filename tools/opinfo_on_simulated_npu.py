"""Runs PyTorch's operator database on the CPU and on the simulated NPU, forward and backward, and compares the results.

    npuify simulate --policy off --cpu-random tools/opinfo_on_simulated_npu.py [--every N] [--only NAME,NAME]

For each operator with float32 samples: each of its first samples is run on the CPU; where that passes it is run
on the simulated NPU with the same numbers, and the results and gradients must agree within float32's tolerance. Prints
the operators that fail, and the share that passes. Exit code 1: less than --at-least percent.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing import assert_close
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

RANDOM_RESULT = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted", "resize_"}
"""Operators whose values mean nothing: only shapes are compared."""

COARSE = {"nn.functional.scaled_dot_product_attention": 5e-5}
"""Operators that the CPU has one kernel for and the simulated NPU several: the absolute difference that
PyTorch's own tests allow between the two (decorators of the database's entry)."""


def moved(value: Any, device: str) -> Any:
    """``value`` with its tensors, devices and generators on ``device``."""

    def one(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            made = x.detach().clone().to(device)
            return made.requires_grad_(x.requires_grad)
        if isinstance(x, torch.device) or (isinstance(x, str) and x == "cpu"):
            return torch.device(device)
        return x

    return tree_map(one, value)


def run(op: Any, sample: Any, device: str) -> tuple[list[Any], list[Any]]:
    """Results and gradients of one sample, on the CPU."""
    given = moved((sample.input, sample.args, sample.kwargs), device)
    torch.manual_seed(7)
    result = op(given[0], *given[1], **given[2])
    if sample.output_process_fn_grad is not None:
        result = sample.output_process_fn_grad(result)
    leaves = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
    inputs = [x for x in tree_leaves(given) if isinstance(x, torch.Tensor) and x.requires_grad]
    grads: list[Any] = []
    wanted = [x for x in leaves if x.requires_grad and (x.is_floating_point() or x.is_complex())]
    if op.supports_autograd and inputs and wanted:
        grads = list(torch.autograd.grad(wanted, inputs, [torch.ones_like(x) for x in wanted], allow_unused=True))
    if device != "cpu":
        for x in leaves:
            if x.device.type != "npu":
                raise AssertionError(f"the result is on {x.device}")
    return ([x.detach().cpu() for x in leaves], [None if g is None else g.cpu() for g in grads])


def check(op: Any, samples: int) -> Iterator[str]:
    """What went wrong with one operator: nothing if all is well. Samples that the CPU cannot do do not count."""
    name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
    for i, sample in enumerate(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)):
        if i >= samples:
            return
        try:
            expected, expected_grads = run(op, sample, "cpu")
        except Exception:
            continue
        try:
            actual, actual_grads = run(op, sample, "npu")
            if op.name in RANDOM_RESULT:
                assert [x.shape for x in actual] == [x.shape for x in expected]
                continue
            close = {"atol": COARSE[op.name], "rtol": 1e-5} if op.name in COARSE else {}
            assert_close(actual, expected, equal_nan=True, **close)
            assert_close(
                [g for g in actual_grads if g is not None],
                [g for g in expected_grads if g is not None],
                equal_nan=True,
                **close,
            )
        except Exception as error:
            yield f"{name}: sample {i}: {type(error).__name__}: {' '.join(str(error).split())[:240]}"
            return


def main() -> int:
    """Run, print, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take only each Nth operator")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--samples", type=int, default=6, help="samples of each operator")
    parser.add_argument("--at-least", type=float, default=99.0, help="percent that must pass")
    parser.add_argument("--name-each", action="store_true", help="print each operator's name before it runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    only = set(filter(None, options.only.split(",")))
    chosen = [op for i, op in enumerate(op_db) if (op.name in only if only else i % options.every == 0)]
    passed, failed, skipped = 0, [], 0
    for op in chosen:
        if not op.supports_dtype(torch.float32, "cpu"):
            skipped += 1
            continue
        if options.name_each:
            print(op.name, op.variant_test_name, flush=True)
        found = list(check(op, options.samples))
        if found:
            failed += found
            print("FAIL", *found, flush=True)
        else:
            passed += 1
    total = passed + len(failed)
    share = 100.0 * passed / total if total else 0.0
    print(f"{passed} of {total} operators pass ({share:.2f} %); {skipped} have no float32; torch {torch.__version__}")
    return 0 if share >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
