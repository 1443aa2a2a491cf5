"""What one file of C++ or CUDA holds, in a form that is kept between scans."""

from __future__ import annotations

import msgspec


class Function(msgspec.Struct, frozen=True, array_like=True):
    """A function with its body."""

    name: str
    line: int
    is_kernel: bool
    uses: tuple[str, ...]
    """Keys of ``MARKS``."""
    calls: tuple[str, ...]
    """Names that its body calls, launches, or takes the address of."""


class Binding(msgspec.Struct, frozen=True, array_like=True):
    """A function that Python can call."""

    module: str
    """The module of pybind11, as written (``TORCH_EXTENSION_NAME`` for the name that the build gives it), or empty."""
    library: str
    """The namespace below ``torch.ops``, or empty."""
    name: str
    targets: tuple[str, ...]
    """The C++ functions behind it."""
    key: str
    """The dispatch key that it is registered for; empty for all, and ``class`` for a class."""
    line: int
    written: str = ""
    """What is handed over, where it is more than a function's name: template arguments, a cast, a lambda."""


class NativeFile(msgspec.Struct, frozen=True, array_like=True):
    """What one file holds."""

    functions: tuple[Function, ...] = ()
    bindings: tuple[Binding, ...] = ()
    registered: tuple[tuple[str, str, str], ...] = ()
    """What macros such as ``REGISTER_DEVICE_IMPL(interface, CUDA, implementation)`` say."""
