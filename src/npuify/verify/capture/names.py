"""Names of modules and parameters that are the same on every device, in one process and in many."""

from __future__ import annotations

import re
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_WRAPPERS = frozenset(
    (
        "DistributedDataParallel",
        "DataParallel",
        "OptimizedModule",
        "FullyShardedDataParallel",
        "DeepSpeedEngine",
        "DistributedDataParallelCommHook",
    )
)
"""Classes that hold a model and are none themselves."""
_PREFIX = re.compile(r"(^|\.)(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module|_forward_module)(?=\.|$)")


def is_wrapper(module: torch.nn.Module) -> bool:
    """Whether a module only wraps a model."""
    return type(module).__name__ in _WRAPPERS


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """The model in a wrapper."""
    while is_wrapper(module):
        inner = next(module.children(), None)
        if inner is None:
            break
        module = inner
    return module


class Names:
    """Gives each model the name of its class, and what is in it its path below that."""

    def __init__(self) -> None:
        self._modules: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()
        self._roots: dict[str, int] = {}
        self.roots: list[tuple[str, weakref.ref[torch.nn.Module]]] = []

    def known(self, module: torch.nn.Module) -> str | None:
        """The module's name, if it has one."""
        return self._modules.get(module)

    def add_root(self, module: torch.nn.Module) -> str:
        """Name a model that is called by the program itself."""
        kind = type(module).__name__
        if not any(True for _ in module.children()) and not any(True for _ in module.parameters()):
            # A loss, say, that may be made anew for each step.
            self._modules[module] = kind
            return kind
        number = self._roots[kind] = self._roots.get(kind, 0) + 1
        root = kind if number == 1 else f"{kind}({number})"
        for path, part in module.named_modules():
            clean = _PREFIX.sub("", path).strip(".")
            clean = re.sub(r"(^|\.)module(?=\.)", "", clean) if is_wrapper(module) else clean
            self._modules.setdefault(part, f"{root}.{clean}" if clean else root)
        self.roots.append((root, weakref.ref(module)))
        return root

    def parameters(self) -> dict[int, tuple[str, Any]]:
        """Name and tensor of every parameter of the models seen so far, by its id."""
        found: dict[int, tuple[str, Any]] = {}
        for root, reference in self.roots:
            module = reference()
            if module is None:
                continue
            for path, parameter in module.named_parameters():
                found.setdefault(id(parameter), (f"{root}.{_PREFIX.sub('', path).strip('.')}", parameter))
        return found

    def buffers(self, root: str, module: torch.nn.Module) -> list[tuple[str, Any]]:
        """Name and tensor of the buffers of a model."""
        return [(f"{root}.{_PREFIX.sub('', path).strip('.')}", value) for path, value in module.named_buffers()]
