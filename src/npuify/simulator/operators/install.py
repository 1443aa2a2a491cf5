"""Define the operators of one torch_npu release in PyTorch's ``npu`` namespace, with simulated kernels."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

from .autograd import apply, wants_gradient
from .derived import derive
from .table import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .table import Operator

NAMESPACE = "npu"

MODULES = (
    "layers.activations",
    "layers.adam",
    "attention.training_gradients",
    "attention.update",
    "vision.boxes",
    "tensors.casts",
    "vision.conv",
    "layers.cross_entropy",
    "vision.deformable",
    "layers.dropout",
    "attention.training_operators",
    "matrices.grouped",
    "tensors.indexing",
    "attention.inference_operators",
    "layers.losses",
    "attention.masked_softmax",
    "matrices.matmul",
    "matrices.collectives",
    "experts.gating",
    "experts.permute",
    "experts.routing",
    "attention.multi_head",
    "vision.nms",
    "layers.rms_norm",
    "layers.layer_norm",
    "tensors.overflow",
    "vision.pooling",
    "matrices.quantize",
    "matrices.quantized",
    "tensors.reductions",
    "attention.rotary",
    "tensors.scatter",
    "attention.sequence",
    "tensors.shapes",
)
"""Modules whose import fills the table."""

_libraries: dict[str, Any] = {}
_simulated: dict[str, frozenset[str]] = {}
_kernels: dict[str, Callable[..., Any]] = {}


def load_table() -> Mapping[str, Operator]:
    """All simulated operators, by name."""
    for module in MODULES:
        import_module(f"{__package__}.{module}")
    return TABLE


def install(schemas: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Define the ``npu::`` operators of a release in this process. A second call does nothing.

    They have kernels for tensors of the simulated device (``PrivateUse1``), and shapes for meta and fake tensors; on
    the CPU they have none, as with the real package (but see :func:`on_cpu`). Operators without a row in the table
    are defined too; calling one raises ``NotImplementedError``.

    Args:
        schemas: operator → its schemas, one for each overload, as ``custom_operators`` of a release table has them.

    Returns:
        the operators that are simulated, with their overloads.

    Raises:
        RuntimeError: the real torch_npu is loaded in this process.
    """
    if NAMESPACE in _simulated:
        return _simulated[NAMESPACE]
    table = load_table()
    try:
        library = torch.library.Library(NAMESPACE, "DEF")
    except RuntimeError as error:
        raise RuntimeError(
            "simulated NPU: the operators of an NPU are registered in this process already; do not import the real "
            "torch_npu in a process that simulates one"
        ) from error
    _libraries[NAMESPACE] = library
    known = set()
    for name, texts in schemas.items():
        for schema in texts:
            overload, signature = split_overload(schema)
            full = f"{name}.{overload}" if overload else name
            if not _can_define(library, f"{full}{signature}"):
                continue
            row = table.get(full) or derive(full, signature, table)
            if row is not None:
                known.add(full)
            _implement(library, full, row)
    _simulated[NAMESPACE] = frozenset(known)
    return _simulated[NAMESPACE]


@contextmanager
def on_cpu() -> Iterator[None]:
    """Let the installed operators also take tensors of the CPU, for as long as this lasts."""
    library = torch.library.Library(NAMESPACE, "IMPL", "CPU")
    try:
        for full, kernel in _kernels.items():
            library.impl(full, kernel)
        yield
    finally:
        library._destroy()


def split_overload(schema: str) -> tuple[str, str]:
    """Overload and signature of a schema as the release tables store it: ``.dim(Tensor self) -> Tensor``."""
    overload, separator, rest = schema.partition("(")
    return overload.strip().lstrip("."), separator + rest


def coverage(schemas: Mapping[str, Iterable[str]]) -> dict[str, Operator | None]:
    """Every operator with its overload → the row that simulates it, or None."""
    table = load_table()
    rows: dict[str, Operator | None] = {}
    for name in sorted(schemas):
        for schema in schemas[name]:
            overload, signature = split_overload(schema)
            full = f"{name}.{overload}" if overload else name
            rows[full] = table.get(full) or derive(full, signature, table)
    return rows


def _can_define(library: Any, schema: str) -> bool:
    """Define an operator, unless its schema has types that the installed PyTorch does not know (any more).

    So it is with ``Dimname``, which the operators of releases for PyTorch 2.7 and older have, on a newer PyTorch.
    """
    try:
        library.define(schema)
    except RuntimeError as error:
        if "unknown type" in str(error):
            return False
        raise
    return True


def _implement(library: Any, full: str, row: Operator | None) -> None:
    name, _, overload = full.partition(".")
    if row is None:
        refuse = _not_simulated(name)
        library.impl(full, refuse, "CompositeExplicitAutograd")
        _register_fake(full, refuse, library)
        return
    operator = getattr(getattr(getattr(torch.ops, NAMESPACE), name), overload or "default")
    spelled = {argument.name: row.own_name(argument.name) for argument in operator._schema.arguments}
    names = list(spelled.values())
    defaults = {
        spelled[argument.name]: argument.default_value
        for argument in operator._schema.arguments
        if argument.has_default_value()
    }
    results = len(operator._schema.returns)

    def bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The call's arguments under the names that the row's function has for them."""
        given = {spelled[key]: value for key, value in kwargs.items()}
        return {**defaults, **dict(zip(names, args, strict=False)), **given}

    def compute(*args: Any, **kwargs: Any) -> Any:
        taken = {}
        for key, value in bind(args, kwargs).items():
            if row.takes(key):
                taken[key] = value
            elif value is not None and value != defaults.get(key):
                raise NotImplementedError(f"simulated NPU: torch_npu.{name} is not simulated with the argument {key!r}")
        found = row.function(**taken)
        # Older releases have fewer results; one result is not a tuple.
        if isinstance(found, tuple) and len(found) != results:
            return found[0] if results == 1 else found[:results]
        return found

    def below(given: dict[str, Any]) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            # Not the operator itself, whose own call has an argument "self" in the oldest PyTorch.
            return operator._op(**{key: given[own] for key, own in spelled.items() if own in given})

    def with_autograd(*args: Any, **kwargs: Any) -> Any:
        given = bind(args, kwargs)
        return apply(row, below, given) if wants_gradient(row, given) else below(given)

    if not any("Tensor" in str(argument.type) for argument in operator._schema.arguments):
        # Without a tensor nothing says for which device it is; the kernel's own argument does.
        library.impl(full, compute, "BackendSelect")
    _kernels[full] = compute
    library.impl(full, compute, "PrivateUse1")
    library.impl(full, with_autograd, "Autograd")
    _register_fake(full, compute, library)


def _register_fake(full: str, function: Callable[..., Any], library: Any) -> None:
    # torch before 2.4 calls it impl_abstract.
    register = getattr(torch.library, "register_fake", None) or getattr(torch.library, "impl_abstract", None)
    if register is not None:
        # This makes it the kernel of meta tensors, too; registering that besides is refused by torch before 2.8.
        register(f"{NAMESPACE}::{full}", function, lib=library)
    else:
        library.impl(full, function, "Meta")


def _not_simulated(name: str) -> Callable[..., Any]:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(
            f"torch_npu.{name} exists in this release of torch_npu but is not simulated by npuify"
        )

    return refuse
