"""What torch and torch_npu say when they are asked: expressions that are true where a claim holds."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, find, is_simulated, is_stand_in, raised
from npuify.selftest.inside.signature_text import parameters_of


def true(expression: str, setup: str = "") -> Any:
    """What a Python expression gives, with torch, torch_npu and the functions of this module at hand.

    True and False come back as they are, and all else as its text.
    """
    space = _space()
    with _noticed() as computed:
        if setup:
            exec(setup, space)
        value = eval(expression, space)
    if computed:
        raise CannotAsk("there is no kernel here")
    return value if isinstance(value, (bool, int, float, str, type(None), list)) else repr(value)[:200]


_NO_KERNELS = (
    "empty",
    "_to_copy",
    "copy_",
    "view",
    "as_strided",
    "alias",
    "detach",
    "_local_scalar",
    "set_",
    "resize_",
)
"""What operators are called that move or lay out memory: the driver does it, and the stand-in for it, too."""


@contextlib.contextmanager
def _noticed() -> Iterator[list[str]]:
    """The operators that computed something on npuify's stand-ins for the driver, where nothing does; else none."""
    found: list[str] = []
    if not is_stand_in():
        yield found
        return
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Noticed(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            name = func._schema.name.partition("::")[2]
            tensors = [one for one in tree_leaves((args, result)) if isinstance(one, torch.Tensor)]
            if any(one.device.type == "npu" for one in tensors) and not name.startswith(_NO_KERNELS):
                found.append(name)
            return result

    with Noticed():
        yield found


def _space() -> dict[str, Any]:
    import torch
    import torch_npu

    own = (
        asked_of_cuda,
        cannot,
        does_nothing,
        fails,
        find,
        has_own_attention,
        is_none,
        is_older_chip,
        parameters,
        raised,
        said,
        sets_cuda,
        there,
    )
    return {"torch": torch, "torch_npu": torch_npu, "os": os, **{function.__name__: function for function in own}}


def fails(name: str) -> bool:
    """Whether it raises to have a name, or to call what it stands for."""

    def use() -> None:
        found = find(name)
        if callable(found):
            found()

    return raised(use) != ""


def there(name: str) -> bool:
    """Whether a name can be had."""
    try:
        find(name)
    except (AttributeError, ImportError):
        return False
    return True


def parameters(name: str) -> list[str]:
    """The names of a callable's parameters."""
    text = parameters_of(find(name))
    if text is None or text == "*args,**kwargs":
        raise CannotAsk("its parameters cannot be read")
    return list(inspect.signature(find(name)).parameters)


def said(function: Callable[[], object]) -> str:
    """What a call warns of, and what it writes to the error stream, also from C++."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                function()
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        text = file.read().decode(errors="replace")
    return "\n".join([*(str(one.message) for one in warned), text])


def is_none(name: str) -> bool:
    """Whether a function, called as simply as it can be, or a member of the first device's properties is None."""
    owner, _, last = name.rpartition(".")
    if owner.endswith("DeviceProperties"):
        import torch

        return getattr(torch.npu.get_device_properties(0), last) is None
    found = find(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (found() if callable(found) else found) is None


def does_nothing(name: str) -> bool:
    """Whether a switch, whatever it is set to, leaves results on the NPU as they are, bit for bit.

    Args:
        name: a value that is set, a function that sets one, a context manager, or a module whose values are all set.
    """
    try:
        find(name)
    except AttributeError:
        raise CannotAsk("this torch does not have it") from None
    before = _results()
    return all(_same(before, after) for after in _each_setting(name))


def cannot(why: str) -> None:
    """Say that the claim is not about this machine."""
    raise CannotAsk(why)


def is_older_chip() -> bool:
    """Whether the chip is a first 910 or a 310P, by its name."""
    import re

    import torch

    return bool(re.match(r"Ascend(?:910(?:A|B|Pro[AB])?|310P\w*|310)$", torch.npu.get_device_name(0)))


def has_own_attention() -> bool:
    """True; the simulated NPU has the CPU's kernels for attention, and its switches."""
    if is_simulated():
        raise CannotAsk("the simulated NPU has the CPU's attention")
    return True


def asked_of_cuda() -> bool:
    """Whether torch.is_autocast_enabled() tells of CUDA, and the NPU's function of the NPU."""
    import torch

    newer = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14)
    with torch.autocast("npu", dtype=torch.float16):
        return bool(torch.npu.is_autocast_enabled()) and (newer or not torch.is_autocast_enabled())


def sets_cuda() -> bool:
    """Whether torch.set_autocast_enabled(True) leaves the NPU's autocast off, and the NPU's function turns it on."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_autocast_enabled(True)
        one = torch.npu.is_autocast_enabled()
        torch.set_autocast_enabled(False)
        torch.npu.set_autocast_enabled(True)
        other = torch.npu.is_autocast_enabled()
        torch.npu.set_autocast_enabled(False)
    newer = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14)
    return bool(other) and (newer or not one)


def _each_setting(name: str) -> Iterator[list[Any]]:
    owner, _, last = name.rpartition(".")
    found = find(name)
    if inspect.ismodule(found) or (
        type(found).__name__.endswith(("Module", "Policy", "Controller")) and not callable(found)
    ):
        members = [f"{name}.{one}" for one in dir(found) if not one.startswith("_")]
        switches = [one for one in members if isinstance(_value(one), bool)]
        for one in switches:
            yield from _each_setting(one)
        yield _results()
        return
    if isinstance(found, bool):
        for value in (not found, found):
            with contextlib.suppress(Exception):
                setattr(find(owner), last, value)
            yield _results()
        return
    if not callable(found):
        with contextlib.suppress(Exception):
            setattr(find(owner), last, found)
        yield _results()
        return
    for arguments in ((), (True,), (False,)):
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                made = found(*arguments)
            except (TypeError, ValueError, RuntimeError, AttributeError):
                continue
            if hasattr(made, "__enter__"):
                with made:
                    yield _results()
                continue
        yield _results()


def _value(name: str) -> object:
    try:
        return find(name)
    except Exception:  # some raise where there is no CUDA
        return None


def _results() -> list[Any]:
    import torch

    generator = torch.Generator().manual_seed(5)
    x = torch.randn(2, 4, 8, 8, generator=generator).npu()
    w = torch.randn(4, 4, 3, 3, generator=generator).npu()
    q = torch.randn(1, 2, 8, 16, generator=generator).npu().half()
    found = [torch.nn.functional.conv2d(x, w), x @ x.transpose(-1, -2), q @ q.transpose(-1, -2)]
    found.append(torch.nn.functional.scaled_dot_product_attention(q, q, q))
    return [one.cpu() for one in found]


def _same(one: list[Any], other: list[Any]) -> bool:
    import torch

    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
