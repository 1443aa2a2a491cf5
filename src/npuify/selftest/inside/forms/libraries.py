"""Modules in the place of libraries that a program imports and that are not there, such as apex or transformers.

Everything can be asked of them, called, and passed on; what a program does with them proves nothing about torch_npu, so
each use is noted with the line of the program that makes it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any

THERE = frozenset({"torch", "torch_npu", "numpy", "setuptools", *sys.stdlib_module_names, *sys.builtin_module_names})


_SAMPLE = "a sample"


class Uses:
    """Which lines of the program came to a library that is not there."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: dict[int, str] = {}
        self.used: set[str] = set()

    def note(self, name: str, *, counts: bool = True) -> None:
        """A thing of this name was used by the line of the program that is nearest on the stack."""
        if not name.startswith(_SAMPLE):
            self.used.add(name.partition(".")[0])
        frame = sys._getframe(2) if counts else None
        while frame is not None and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        if frame is not None:
            self.lines.setdefault(frame.f_lineno, name)


def _uses() -> Uses:
    return _FINDER[0].uses


class Thing:
    """A name of such a library, and whatever comes of it."""

    def __init__(self, name: str = _SAMPLE, *arguments: Any, **keywords: Any) -> None:
        object.__setattr__(self, "_name", name if isinstance(name, str) else _SAMPLE)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Thing(f"{self._name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        _uses().note(self._name)
        plain = (types.FunctionType, type, Kernel)
        if len(arguments) == 1 and not keywords and isinstance(arguments[0], plain):
            # A decorator.
            return Kernel(arguments[0]) if self._name == "triton.jit" else arguments[0]
        return Thing(self._name)

    def __getitem__(self, key: Any) -> Any:
        return Thing(self._name)

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __iter__(self) -> Any:
        return iter([Thing(self._name), Thing(self._name)])

    def __mro_entries__(self, bases: Any) -> Any:
        return (Thing,)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return 2

    def __contains__(self, item: Any) -> bool:
        return True

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return 1.0

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: Any) -> bool:
        return other is self

    def __lt__(self, other: Any) -> bool:
        return False

    __gt__ = __lt__
    __le__ = __ge__ = lambda self, other: True

    def _other(self, *operand: Any) -> Any:
        return Thing(self._name)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _other
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _other
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rshift__ = __lshift__ = __neg__ = __invert__ = _other

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _uses().note(_SAMPLE)
        return Thing()


class Kernel:
    """A function that is launched over a grid, ``kernel[grid](…)``; called, it is the function."""

    def __init__(self, function: Any) -> None:
        self.__wrapped__ = function

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.__wrapped__(*arguments, **keywords)

    def __getitem__(self, grid: Any) -> Any:
        return Thing("triton.kernel")


class _Library(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        _uses().note(self.__name__, counts=False)
        return Thing(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what the program imports, and nothing for torch's own optional imports."""

    def __init__(self, uses: Uses, own: frozenset[str]) -> None:
        self.uses, self.own = uses, own

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        top = name.partition(".")[0]
        if top in THERE or top in self.own or (top not in self.uses.used and not self._is_programs()):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def _is_programs(self) -> bool:
        frame = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back  # type: ignore[assignment]
        return frame is not None and frame.f_code.co_filename == self.uses.path

    def create_module(self, spec: Any) -> Any:
        self.uses.used.add(spec.name.partition(".")[0])
        module = _Library(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: Any) -> None:
        return None


_FINDER: list[_Finder] = []


def install(path: str, own: frozenset[str]) -> Uses:
    """Let the program at ``path``, with modules of its ``own``, import anything."""
    uses = Uses(path)
    _FINDER[:] = [_Finder(uses, own)]
    sys.meta_path.insert(0, _FINDER[0])
    return uses
