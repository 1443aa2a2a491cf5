"""The charts at the top of the page: places by area and by file, and the hours."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from npuify.html.escape import escaped
from npuify.language import phrase, told
from npuify.report.html.charts import Bar, ranges, stacked
from npuify.report.html.rows import STATUSES
from npuify.report.summary import counted
from npuify.report.verdicts.verdict import hours

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from npuify.report.verdicts.verdict import Verdict

_FILES_CHARTED: Final = 16


def prose(text: str) -> str:
    """Prose with what stands between backticks as code."""
    pieces = " ".join(told(text).split()).split("`")
    if len(pieces) % 2 == 0:
        return escaped("`".join(pieces))
    return "".join(f"<code>{escaped(one)}</code>" if odd % 2 else escaped(one) for odd, one in enumerate(pieces))


def overview(table: Sequence[Mapping[str, Any]], verdict: Verdict) -> str:
    stack, cards = [], []
    if table:
        areas = _counts((row["area"], row["status"]) for row in table)
        files = _counts((row["file"], row["status"]) for row in table)
        stack.append(
            f'<div class="card"><h2>{phrase("By area")}'
            f"</h2>{stacked(areas, STATUSES, phrase('Places by area'), 'area')}{legend()}</div>"
        )
        more = len(files) - _FILES_CHARTED
        rest = (
            f'<p class="dim">{phrase("and {files} with fewer.", files=counted(more, "file"))}</p>' if more > 0 else ""
        )
        chart = stacked(files[:_FILES_CHARTED], STATUSES, phrase("Places by file"), "file")
        cards.append(f'<div class="card"><h2>{phrase("By file")}</h2>{chart}{rest}</div>')
    estimate = verdict.estimate
    if not estimate.parts:
        return ""
    how = "".join(f"<p>{escaped(told(text))}</p>" for text in estimate.how)
    parts = "".join(
        f"<tr><td>{escaped(told(part.name))}</td><td class='n'>{part.low:.1f}</td><td class='n'>{part.high:.1f}</td>"
        f"<td class='dim'>{escaped(told(part.basis))}</td></tr>"
        for part in estimate.parts
    )
    who = phrase("{hours} for one person who knows the project and is new to Ascend.", hours=hours(estimate))
    stack.append(
        f'<div class="card"><h2>{phrase("By effort")}</h2><p>{escaped(who)}</p>'
        f"{ranges(estimate.parts, phrase('Hours by part, from low to high'))}"
        f"<details><summary>{phrase('How this is made, and what it leaves out')}</summary>{how}"
        f"<table><thead><tr><th>{phrase('part')}</th><th class='n'>{phrase('low, h')}</th>"
        f"<th class='n'>{phrase('high, h')}</th><th>{phrase('counted')}</th></tr>"
        f"</thead><tbody>{parts}</tbody></table></details></div>"
    )
    return f'<section class="cards"><div class="stack">{"".join(stack)}</div>{"".join(cards)}</section>'


def _counts(pairs: Iterable[tuple[str, str]]) -> list[Bar]:
    groups: dict[str, Counter[str]] = {}
    for label, status in pairs:
        groups.setdefault(label, Counter())[status] += 1
    bars = [Bar(label, counts) for label, counts in groups.items()]
    return sorted(bars, key=lambda bar: (-sum(bar.counts.values()), bar.label))


def actors() -> dict[str, str]:
    """Who acts, for each status, in the order in which they are drawn."""
    words = (phrase("edited by npuify"), phrase("to review"), phrase("by hand"), phrase("notes"))
    return dict(zip(STATUSES, words, strict=True))


def legend() -> str:
    items = (f'<span><i class="k-{key}"></i>{word}</span>' for key, word in actors().items())
    return f'<p class="legend">{"".join(items)}</p>'
