"""``python -m tools.evidence`` writes docs/evidence.md, in English and Chinese: how claims are known, and which of them
the selftest asks."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.knowledge.claims import claims
from npuify.knowledge.hand_written import arguments, environment, meanings, packages
from npuify.knowledge.hardware.facts import SHIPPED, read_facts
from npuify.knowledge.release.table import load_shipped
from npuify.knowledge.third_party.kernels import kernel_facts
from npuify.language import commas, phrase, speaking
from npuify.model import Evidence
from npuify.report.evidence import KNOWN
from npuify.selftest.run import plan_for
from npuify.selftest.shares import share_lines
from tools.site.languages import ENGLISH, LANGUAGES, SiteLanguage, in_language

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
_NONE = "none yet. Nothing counts as seen on hardware."
_EACH = "Each fact shows its source and how it is known, from the strongest to the weakest:"
_WRITTEN = "Written by `python -m tools.evidence`; a test compares it."
_ASKED = "Claims that `npuify selftest` asks, of torch_npu {release}"
_SHARES = "`npuify selftest --list` prints which share of the claims has a check, and names the rest with the reason:"
RELEASE = "2.14.0"
"""The release whose claims are counted: the newest."""


def page(language: SiteLanguage = ENGLISH) -> str:
    """The page's text."""
    with speaking(language.name):
        return _page(language)


def _page(language: SiteLanguage) -> str:
    def said(text: str) -> str:
        return in_language(text, language)

    table = load_shipped(RELEASE)
    plan = plan_for(table)
    asked: dict[str, list[Evidence]] = {}
    for check in plan.checks:
        if check.counts:
            asked.setdefault(check.area, []).append(check.evidence)
    seen = [read_facts(path) for path in sorted(SHIPPED.glob("*.json"))] if SHIPPED.is_dir() else []
    lines = [
        f"# {said('How claims are known')}",
        "",
        said(_WRITTEN),
        "",
        said(_EACH),
        "",
        *(f"- `{one.value}`: {phrase(KNOWN[one])}" for one in Evidence),
        "",
        said("Machines whose results ship: {names}").format(
            names=commas(one.in_short for one in seen) or said(_NONE),
        ),
        "",
        f"## {said(_ASKED).format(release=RELEASE)}",
        "",
        *_table(said("area"), asked, said),
        "",
        said(_SHARES),
        "",
        *(f"- {line}" for line in share_lines(plan, table)),
        "",
        f"## {said('Facts in tables that are written by hand')}",
        "",
        *_table(said("table"), _tables(), said),
        "",
        f"## {said('Claims without a check')}",
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


def _table(head: str, rows: Mapping[str, list[Evidence]], said: Callable[[str], str]) -> list[str]:
    levels = list(Evidence)
    lines = [f"| {head} | {said('all')} | " + " | ".join(one.value for one in levels) + " |"]
    lines.append("|---|" + "---|" * (len(levels) + 1))
    whole: Counter[Evidence] = Counter()
    for name, known in rows.items():
        counts = Counter(known)
        whole += counts
        lines.append(f"| {name} | {len(known)} | " + " | ".join(str(counts[one] or "") for one in levels) + " |")
    total = sum(whole.values())
    shares = " | ".join(f"{100 * whole[one] / total:.0f} %" for one in levels)
    lines.append(f"| {said('share')} | {total} | {shares} |")
    return lines


def main() -> int:
    """Write the page."""
    for language in LANGUAGES:
        PAGE.with_suffix(f"{language.suffix}.md").write_text(page(language), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
