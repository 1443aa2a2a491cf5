"""Tells PyTorch of the device's operators: ATen's by the engine, ``npu::``'s from the table of :mod:`operators`."""

from __future__ import annotations

import torch

from npuify.simulator import state, tables
from npuify.simulator.dispatch import autocast, histograms, operator_lists, recurrent_cells, sync_batch_norm

not_simulated: dict[str, str] = {}
"""Operators of the release that cannot be run here, and why."""

_kept: list[torch.library.Library] = []


def register_own_operators() -> None:
    """Operators through which Python reaches objects of the C++ device; before the engine registers its kernels."""
    own = torch.library.Library("npuify_sim", "DEF")
    own.define("default_generator(int device) -> Generator")
    if torch.distributed.is_available():
        own.define("hold_works() -> ()")
        own.define("wait_for_works() -> ()")
        own.define("learn_twin(__torch__.torch.classes.c10d.ProcessGroup twin) -> ()")
    _kept.append(own)


def register_aten() -> None:
    """ATen's operators and autocast, by the engine."""
    state.device.register(operator_lists.WHOLE, operator_lists.BESIDE_CPU, operator_lists.IN_FLOAT, tables.npu_only())
    kernels = torch.library.Library("aten", "IMPL")
    _kept.append(kernels)
    for name, function in (*sync_batch_norm.KERNELS.items(), *histograms.KERNELS.items()):
        kernels.impl(name, function, "PrivateUse1")
    for name, cell in recurrent_cells.KERNELS.items():
        kernels.impl(name, cell, "PrivateUse1")
        kernels.impl(name, cell, "AutogradPrivateUse1")
    for names, how in autocast.LISTS:
        for name in names:
            state.device.autocast(f"aten::{name}", how)
    native = native_operators()
    state.device.native_operators(sorted(native))
    for key, compressed in (("Sparse", False), ("SparseCsr", True)):
        for name in _sparse_operators(key):
            state.device.run_sparse(f"aten::{name}", compressed)


def _sparse_operators(key: str) -> list[str]:
    """``add.Tensor`` and so on: operators that the release has for sparse tensors."""
    return sorted(tables.kernels_by_key(state.release).get(f"{key}PrivateUse1", ()))


def native_operators() -> set[str]:
    """``aten::add.Tensor`` and so on: operators that the release runs on the NPU, or that PyTorch makes of such."""
    if "falls_back" in state.table:
        names = {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
        return names - set(state.table["falls_back"])
    found: set[str] = set()
    for name, overloads in state.table["operators"].items():
        for overload in overloads.split():
            found.add(f"aten::{name}" if overload == "-" else f"aten::{name}.{overload}")
    composite = "CompositeExplicitAutogradNonFunctional"
    for full in torch._C._dispatch_get_all_op_names():
        if not full.startswith("aten::") or full in found:
            continue
        name, _, overload = full.partition(".")
        if torch._C._dispatch_has_kernel_for_dispatch_key(full, composite):
            # PyTorch makes these of the variant that writes to a given output.
            outs = [f"{name}.out", f"{name}.{overload}_out", f"{name.rstrip('_')}.out"]
            outs += [
                f"{name.rstrip('_')}.{overload}_out",
                f"{name}.grad_input",
                f"{name}.{overload}",
                _out_of(name, overload),
            ]
            if any(out in found for out in outs if out):
                found.add(full)
        elif torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeExplicitAutograd"):
            # Made of other operators on every device.
            found.add(full)
    for ours, theirs in operator_lists.SAME_KERNEL.items():
        if theirs in found:
            found.add(ours)
    return found


def _out_of(name: str, overload: str) -> str:
    plain = name.rstrip("_")
    if overload == "Tensor":
        return f"{plain}.out"
    return f"{plain}.{overload.lower()}_out" if overload else ""


def register_custom() -> None:
    """The release's ``npu::`` operators: simulated ones with their mathematics, the others as names that say so."""
    from npuify.simulator.operators.install import coverage, install

    schemas = state.table["custom_operators"]
    install(schemas)
    not_simulated.update((name, "no mathematics for it yet") for name, row in coverage(schemas).items() if row is None)
