"""Which rules run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuify.rules.opt_ins import NO_OPT_INS, OptIns

if TYPE_CHECKING:
    from npuify.rules.registry import Rule


class Selection(NamedTuple):
    """Which rules run: those whose code or name a prefix in ``select`` names, without those that ``ignore`` names."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    opt_ins: OptIns = NO_OPT_INS
    """What is asked for beyond the rules."""

    def has(self, rule: Rule) -> bool:
        def named(prefixes: tuple[str, ...]) -> bool:
            return any(rule.code.startswith(prefix.upper()) or rule.name == prefix for prefix in prefixes)

        return (not self.select or named(self.select)) and not named(self.ignore)
