"""``python -m tools.evidence`` writes docs/evidence.md: how claims are known, and which of them the selftest asks."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.knowledge.claims import claims
from npuify.knowledge.hand_written import arguments, environment, meanings, packages
from npuify.knowledge.hardware.facts import SHIPPED, read_facts
from npuify.knowledge.kernels import kernel_facts
from npuify.knowledge.release.table import load_shipped
from npuify.model import Evidence
from npuify.report.evidence import KNOWN
from npuify.selftest.run import plan_for

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
_NONE = "none yet. Nothing counts as seen on hardware."
RELEASE = "2.14.0"
"""The release whose claims are counted: the newest."""


def page() -> str:
    """The page's text."""
    plan = plan_for(load_shipped(RELEASE))
    asked: dict[str, list[Evidence]] = {}
    for check in plan.checks:
        if check.counts:
            asked.setdefault(check.area, []).append(check.evidence)
    seen = [read_facts(path) for path in sorted(SHIPPED.glob("*.json"))] if SHIPPED.is_dir() else []
    lines = [
        "# How claims are known",
        "",
        "Written by `python -m tools.evidence`; a test compares it.",
        "",
        "Each fact shows its source and how it is known, from the strongest to the weakest:",
        "",
        *(f"- `{one.value}`: {KNOWN[one]}" for one in Evidence),
        "",
        f"Machines whose results ship: {', '.join(one.in_short for one in seen) or _NONE}",
        "",
        f"## Claims that `npuify selftest` asks, of torch_npu {RELEASE}",
        "",
        *_table("area", asked),
        "",
        "## Facts in tables that are written by hand",
        "",
        *_table("table", _tables()),
        "",
        "## Claims without a check",
        "",
    ]
    reasons = Counter((one.area, one.why) for one in plan.unchecked)
    lines += [f"- `{area}`, {count}: {why}" for (area, why), count in sorted(reasons.items())]
    return "\n".join(lines) + "\n"


def _tables() -> dict[str, list[Evidence]]:
    return {
        "names.toml": [row.evidence for rows in meanings().values() for row in rows],
        "environment.toml": [row.evidence for row in environment().values()],
        "packages.toml": [row.evidence for row in {id(row): row for row in packages().values()}.values()],
        "arguments.toml": [row.evidence for row in arguments()],
        "kernels.toml": [row.evidence for row in kernel_facts()],
        "claims.toml": [row.evidence for row in claims()],
    }


def _table(head: str, rows: Mapping[str, list[Evidence]]) -> list[str]:
    levels = list(Evidence)
    lines = [f"| {head} | all | " + " | ".join(one.value for one in levels) + " |"]
    lines.append("|---|" + "---|" * (len(levels) + 1))
    whole: Counter[Evidence] = Counter()
    for name, known in rows.items():
        counts = Counter(known)
        whole += counts
        lines.append(f"| {name} | {len(known)} | " + " | ".join(str(counts[one] or "") for one in levels) + " |")
    total = sum(whole.values())
    shares = " | ".join(f"{100 * whole[one] / total:.0f} %" for one in levels)
    lines.append(f"| share | {total} | {shares} |")
    return lines


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
