"""The frame of the small HTML reports: one file that opens offline; no script, no address, everything escaped."""

from __future__ import annotations

from typing import Final

from npuify.html.escape import escaped, shortened
from npuify.html.frame import framed

_STYLE: Final = """
h1{font-size:1.5rem}
b.error{color:var(--bad)}b.warning{color:var(--warn)}b.ok{color:var(--good)}b.info{color:var(--note)}
b.skipped{color:var(--dim)}
"""


def sheet(
    *, command: str, version: str, source: str, title: str, worst: str, heading: str, body: str, foot: str
) -> str:
    """A whole page.

    Args:
        worst: the class of the heading: ``error``, ``warning``, ``ok``, ``info`` or ``skipped``.
        body: HTML, escaped already; all else is escaped here.
    """
    return framed(
        f"npuify {command}: {title}",
        _STYLE,
        f"""<p class="brand">npuify {escaped(command)} {escaped(version)} · {escaped(shortened(source, 120))}</p>
<h1><b class="{escaped(worst)}">{escaped(heading)}</b></h1>
{body}
<p class="dim">{escaped(foot)}</p>""",
    )
