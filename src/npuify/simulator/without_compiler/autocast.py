"""Autocast for NPU tensors, in Python: the lists are the compiled device's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "AutocastPrivateUse1"
LOWER, FLOAT, PROMOTE, OUTPUT = range(4)


def casts(value: Any) -> bool:
    """Whether autocast touches it: a floating NPU tensor that is not float64."""
    return (
        isinstance(value, torch.Tensor)
        and value.device.type == "npu"
        and value.is_floating_point()
        and value.dtype is not torch.float64
    )


def kernel(op: Any, how: int) -> Callable[..., Any]:
    """The kernel that treats ``op`` in one of the four ways, and then runs it."""
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, KEY))
    names = [argument.name for argument in op._schema.arguments]

    def run(*args: Any, **kwargs: Any) -> Any:
        to = torch.float32 if how in (FLOAT, OUTPUT) else torch.get_autocast_dtype("npu")
        if how == PROMOTE and any(casts(x) and x.dtype is torch.float32 for x in tree_leaves((args, kwargs))):
            to = torch.float32
        with torch._C._ExcludeDispatchKeyGuard(keys):
            if how == OUTPUT:
                place = names.index("dtype") if "dtype" in names else -1
                given = kwargs.get("dtype", args[place] if 0 <= place < len(args) else None)
                if place >= 0 and given is None and args and casts(args[0]):
                    return (
                        op(*args[:place], **{**kwargs, "dtype": to})
                        if place >= len(args)
                        else op(*args[:place], to, *args[place + 1 :], **kwargs)
                    )
                return op(*args, **kwargs)
            args, kwargs = tree_map(lambda x: x.to(to) if casts(x) else x, (args, kwargs))
            return op(*args, **kwargs)

    return run
