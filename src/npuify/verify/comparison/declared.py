"""What modules say of themselves: settings that differ although their names are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuify.language import phrase

from .matching import plain
from .result import Difference

if TYPE_CHECKING:
    from .matching import Pairs
    from .model import Call, Module, Rank

_HOW = frozenset(("inplace", "sparse", "enable_nested_tensor", "use_nested_tensor", "mask_check", "n_averaged", "lazy"))
"""Settings of torch's modules of how they compute, not of what."""


def settings(pairs: Pairs, a: Rank, b: Rank) -> list[Difference]:
    """Settings that differ.

    Of torch's own modules each one decides what is computed, even where these inputs do not show it, as with dropout
    that is turned off. Of other classes only fractions are taken, as a warning: whole numbers may count, and words may
    name devices.
    """
    first: dict[str, Call] = {}
    for one, _ in pairs.calls:
        first.setdefault(one.name, one)
    theirs = {_renamed(pairs, name): module for name, module in b.modules.items()}
    found = []
    for name, module in a.modules.items():
        other = theirs.get(plain(name))
        if other is None or name not in first or other.kind != module.kind:
            continue
        differing = [key for key in sorted(set(module.settings) & set(other.settings)) if _differ(module, other, key)]
        if not differing:
            continue
        call = first[name]
        told = [
            phrase(
                "{key} is {settings!r} in A and {settings2!r} in B",
                key=key,
                settings=module.settings[key],
                settings2=other.settings[key],
            )
            for key in differing
        ]
        found.append(
            Difference(
                kind="setting",
                severity="error" if module.package == "torch" else "warning",
                name=call.name,
                message=f"{module.kind}: " + ", ".join(told[:4]),
                step=call.step,
                phase=call.phase,
                at=call.start,
                place=module.place,
            )
        )
    return found


def _renamed(pairs: Pairs, name: str) -> str:
    name = plain(name)
    root, dot, rest = name.partition(".")
    return pairs.roots.get(root, root) + dot + rest


def _differ(a: Module, b: Module, key: str) -> bool:
    left, right = a.settings[key], b.settings[key]
    if left == right or key in _HOW:
        return False
    if a.package == "torch" and b.package == "torch":
        return True
    return _is_fraction(left) and _is_fraction(right)


def _is_fraction(value: Any) -> bool:
    return isinstance(value, float)
