"""Whether a name is there, what it is, and what it can be called with."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, find, is_simulated
from npuify.selftest.inside.signature_text import parameters_of, split_outermost

_FIRST = ("input", "self", "x")
"""Names of a first argument that stand for each other: the registered schema says ``input`` where lists say
``self``."""

_ON_PURPOSE = {
    "Stream": "says which of **kwargs it takes",
    "SyncLaunchStream": "says which of **kwargs it takes",
    "ExternalEvent": "says what the real one takes in C++",
    "sdp_kernel": "a class of PyTorch's",
    "schedule": "a function of PyTorch's",
    "save_async": "passes what it does not know to torch.save",
    "NpuFusedBertAdam": "has no mark of its own for: must be given",
    "NpuFusedSGD": "has no mark of its own for: must be given",
    "NpuDropPath": "has 0.0 for no number",
    "export_chrome_trace": "a method of PyTorch's",
    "export_memory_timeline": "a method of PyTorch's",
    "export_stacks": "a method of PyTorch's",
}
"""Names that the simulator has otherwise, and why."""


def shape(module: str, name: str, kind: bool, takes: bool, method: bool) -> dict[str, Any]:
    """What stands under a name.

    Args:
        module: where it is; it may be hidden by another name of its package.
        kind: whether it matters what it is, beside that it is there.
        takes: whether its parameters are wanted.
        method: it is called on an instance, so that its first parameter does not count.

    Returns:
        ``kind``: module, class, callable or value; ``takes``: its parameters, as :func:`spelled` writes them. Of a
        name that is not there: ``kind`` is ``none``.
    """
    if is_simulated():
        _refuse_what_is_simulated_otherwise(module, name)
    try:
        holder: Any = importlib.import_module(module)
        *owners, last = name.split(".")
        for owner in owners:
            holder = getattr(holder, owner)
        found = find(f"{module}.{name}") if not owners and not hasattr(holder, last) else getattr(holder, last)
    except (AttributeError, ImportError):
        return {"kind": "none"}
    answer: dict[str, Any] = {"kind": _kind(found) if kind else "there"}
    if takes:
        plain = method and inspect.isfunction(inspect.getattr_static(holder, last, None))
        text = parameters_of(found, drop_first=plain)
        if text is None or text == "*args,**kwargs":
            raise CannotAsk("its parameters cannot be read")
        answer["takes"] = spelled(text)
    return answer


def _refuse_what_is_simulated_otherwise(module: str, name: str) -> None:
    """A name that the simulator lacks, and a member of a class of which it has what programs use."""
    from npuify.simulator import package

    owner, _, last = f"{module}.{name}".rpartition(".")
    if f"{owner}.{last}" in package.missing or owner in package.missing:
        raise CannotAsk("not simulated")
    if last in _ON_PURPOSE:
        raise CannotAsk("simulated otherwise")
    if "." in name:
        holder: Any = importlib.import_module(module)
        for part in name.split(".")[:-1]:
            holder = getattr(holder, part, None)
        if inspect.isclass(holder) and not hasattr(holder, last):
            raise CannotAsk("not simulated")


def spelled(text: str) -> list[str]:
    """Parameters by name, with stars as in Python and a question mark after those that may be left out.

    Args:
        text: as :func:`parameters_of` gives it, ``a,b=1,*,c=None``.
    """
    found = []
    for part in split_outermost(text):
        name, equals, _ = part.partition("=")
        found.append(f"{name.strip()}?" if equals else name.strip())
    return [one for one in found if one != "/"]


def _kind(value: object) -> str:
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "class"
    return "callable" if callable(value) else "value"


def schemas(name: str) -> list[str]:
    """The schemas of an operator in the namespace npu, as :func:`plain_schema` writes them, sorted."""
    import torch

    try:
        packet = getattr(torch.ops.npu, name)
    except AttributeError:
        return []
    found = [str(getattr(packet, overload)._schema).partition("::")[2] for overload in packet.overloads()]
    return sorted(plain_schema(text.removeprefix(name)) for text in found)


def plain_schema(schema: str) -> str:
    """``.overload(Tensor, int b?) -> Tensor``: types and names of the arguments, without the values of defaults."""
    start = schema.index("(")
    end = schema.index(") ->") if ") ->" in schema else schema.rindex(")")
    parts = []
    for index, part in enumerate(split_outermost(schema[start + 1 : end])):
        declared, equals, _ = part.partition("=")
        kind, _, name = declared.strip().rpartition(" ")
        name = "self" if index == 0 and name in _FIRST else name
        # A mark for what an argument is an alias of is written by files, and not by every dispatcher.
        kind = re.sub(r"\([a-z]!?(?: -> [^)]*)?\)", "", kind)
        parts.append(f"{kind} {name}{'?' if equals else ''}".strip())
    return f"{schema[:start]}({', '.join(parts)})"
