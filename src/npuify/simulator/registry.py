"""Tells PyTorch of the device's operators: ATen's by the engine, ``npu::``'s from the table of :mod:`operators`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator import NotSimulated, autocast, operator_lists, state

if TYPE_CHECKING:
    from collections.abc import Callable

observers: list[Callable[[str, tuple[Any, ...], dict[str, Any]], None]] = []
"""Called before each ``npu::`` operator with its name and arguments."""

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
    state.device.register(operator_lists.WHOLE, operator_lists.BESIDE_CPU)
    for names, how in autocast.LISTS:
        for name in names:
            state.device.autocast(f"aten::{name}", how)
    native = native_operators()
    state.device.native_operators(sorted(native))


def native_operators() -> set[str]:
    """``aten::add.Tensor`` and so on: operators that the release runs on the NPU, or that PyTorch makes of such."""
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
            outs += [f"{name.rstrip('_')}.{overload}_out", f"{name}.grad_input", f"{name}.{overload}", _out_of(name, overload)]
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
    functions = _functions()
    library = torch.library.Library("npu", "DEF")
    _kept.append(library)
    for name, schemas in state.table["custom_operators"].items():
        for text in schemas:
            overload = ""
            try:
                defined = library.define(f"{name}{text}" if text.startswith("(") else text)
                overload = defined.partition("::")[2].partition(".")[2] if isinstance(defined, str) else ""
            except Exception as error:
                not_simulated[name] = f"torch {torch.__version__} does not take its schema: {error}"
                continue
            full = f"{name}.{overload}" if overload else name
            function = functions.get(full)
            if function is None:
                not_simulated[full] = "no mathematics for it yet"
            _implement(library, full, function)


def _functions() -> dict[str, Callable[..., Any]]:
    try:
        from npuify.simulator.operators import OPERATORS
    except ImportError:
        return {}
    return {name: function for name, (_schema, function) in OPERATORS.items()}


def _implement(library: torch.library.Library, name: str, function: Callable[..., Any] | None) -> None:
    def run(*args: Any, **kwargs: Any) -> Any:
        for observer in observers:
            observer(name, args, kwargs)
        if function is None:
            raise NotSimulated(
                f"torch_npu.{name} exists in torch_npu {state.release} but is not simulated (npuify simulate)"
            )
        return function(*args, **kwargs)

    for key in ("PrivateUse1", "AutogradPrivateUse1", "Meta"):
        try:
            library.impl(name, run, key)
        except Exception as error:
            not_simulated[name] = f"PyTorch does not take an implementation of it: {error}"
