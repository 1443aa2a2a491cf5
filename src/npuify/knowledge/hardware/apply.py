"""What sights on hardware change in the tables of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from npuify.knowledge.hardware.facts import Sight, sights_of, verdict_of

if TYPE_CHECKING:
    from npuify.knowledge.schema import ReleaseFile


class Hardware:
    """Answers for one release: what was seen of its claims.

    Args:
        torch_npu: the exact release.
    """

    def __init__(self, torch_npu: str) -> None:
        self._sights = sights_of(torch_npu)

    def seen_on(self, claim: str) -> str:
        """The machine on which a claim was seen to hold; empty where it was not, or elsewhere did not."""
        sights = self._sights.get(claim, ())
        if verdict_of(sights) != "held":
            return ""
        return next(one.machine for one in sights if one.fact.held)

    def refuted(self, claim: str) -> Sight | None:
        """Where a claim did not hold, if that is what counts."""
        sights = self._sights.get(claim, ())
        if verdict_of(sights) != "refuted":
            return None
        return next(one for one in sights if not one.fact.held)

    def all_refuted(self, area: str) -> dict[str, Sight]:
        """Claim of an area, without the area's name → where it did not hold."""
        found = {}
        for claim in self._sights:
            if claim.startswith(f"{area}/"):
                sight = self.refuted(claim)
                if sight is not None:
                    found[claim.removeprefix(f"{area}/")] = sight
        return found

    def sights(self, claim: str) -> tuple[Sight, ...]:
        """Everything that was seen of a claim."""
        return self._sights.get(claim, ())

    def corrected(self, content: ReleaseFile) -> ReleaseFile:
        """The tables without names that were seen not to be there, and with the parameters that were seen."""
        wrong = self.all_refuted("names")
        if not wrong:
            return content
        npu = {module: dict(names) for module, names in content.npu.items()}
        operators = dict(content.custom_operators)
        for claim, sight in wrong.items():
            if claim.startswith("npu::"):
                operators.pop(claim.removeprefix("npu::"), None)
                continue
            module = next((one for one in _prefixes(claim) if one in npu), None)
            if module is not None:
                _correct(npu[module], claim[len(module) + 1 :], sight.fact.seen)
        return msgspec.structs.replace(content, npu=npu, custom_operators=operators)


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]


def _correct(names: dict[str, str], name: str, seen: Any) -> None:
    if not isinstance(seen, dict):
        return  # it could not be looked at, which says nothing of the name
    if seen.get("kind") == "none":
        names.pop(name, None)
    elif isinstance(seen.get("takes"), list) and names.get(name, "=")[0] in "fcm":
        takes = [f"{one[:-1]}=..." if str(one).endswith("?") else str(one) for one in seen["takes"]]
        names[name] = f"{names[name][0]}({','.join(takes)})"
