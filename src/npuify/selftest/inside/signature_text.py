"""Signatures as compact text: ``a,b=1,*,c=None``, the same that the tables read from packages use."""

from __future__ import annotations

import inspect
import re

_LONGEST_DEFAULT = 40
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def parameters_of(called: object, *, drop_first: bool = False) -> str | None:
    """The parameters, without annotations; None where neither Python nor the documentation of a C++ binding says them.

    Args:
        called: a function, a method or a class.
        drop_first: leave out the first one, ``self`` or ``cls``.
    """
    try:
        signature = inspect.signature(called)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return _from_documentation(called)
    parameters = list(signature.parameters.values())
    return _text(parameters[1:] if drop_first else parameters)


def _text(parameters: list[inspect.Parameter]) -> str:
    parts: list[str] = []
    star = False
    for index, parameter in enumerate(parameters):
        text = parameter.name
        if parameter.default is not parameter.empty:
            text += f"={default_text(parameter.default)}"
        if parameter.kind is parameter.VAR_POSITIONAL:
            star, text = True, f"*{parameter.name}"
        elif parameter.kind is parameter.VAR_KEYWORD:
            text = f"**{parameter.name}"
        elif parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = True
            parts.append("*")
        parts.append(text)
        following = parameters[index + 1] if index + 1 < len(parameters) else None
        if parameter.kind is parameter.POSITIONAL_ONLY and (
            following is None or following.kind is not parameter.POSITIONAL_ONLY
        ):
            parts.append("/")
    return ",".join(parts)


def default_text(value: object) -> str:
    """A default as source text where it is short and the same in every run; else ``...``."""
    if isinstance(value, type):
        text = f"{value.__module__}.{value.__qualname__}".removeprefix("builtins.")
    else:
        text = repr(value)
    if len(text) > _LONGEST_DEFAULT or "\n" in text or " at 0x" in text or text.startswith("<"):
        return "..."
    return text


def _from_documentation(called: object) -> str | None:
    """Bindings made with pybind11 begin their documentation with a signature."""
    name = getattr(called, "__name__", None)
    first = (getattr(called, "__doc__", None) or "").partition("\n")[0]
    if name is None or not first.startswith(f"{name}("):
        return None
    parts = []
    for part in split_outermost(
        first[len(name) + 1 : first.rindex(")") if " -> " not in first else first.index(") -> ")]
    ):
        declaration, equals, default = part.partition(" = ")
        argument = declaration.partition(":")[0].strip()
        if argument != "self":
            parts.append(f"{argument}={default}" if equals and len(default) <= _LONGEST_DEFAULT else argument)
    return ",".join(re.sub(r"<.*>", "...", part) for part in parts)


def split_outermost(text: str) -> list[str]:
    """``text`` at the commas that stand in no brackets."""
    parts, closing, current = [], [], ""
    for character in text:
        if character in _CLOSING:
            closing.append(_CLOSING[character])
        elif closing and character == closing[-1]:
            closing.pop()
        if character == "," and not closing:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()] if current.strip() else parts
