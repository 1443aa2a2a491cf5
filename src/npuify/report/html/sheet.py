"""The frame of the small HTML reports: one file that opens offline; no script, no address, everything escaped."""

from __future__ import annotations

from typing import Final

from .escape import escaped, shortened
from .frame import framed

_STYLE: Final = """
:root{color-scheme:light dark;--line:#d0d7de;--dim:#57606a;--bad:#b42318;--warn:#9a6700;--good:#1a7f37;--note:#0969da;
--code:#f3f4f6}
@media(prefers-color-scheme:dark){:root{--line:#3d444d;--dim:#9198a1;--bad:#ff7b72;--warn:#d29922;--good:#3fb950;
--note:#4493f8;--code:#21262d}}
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.5rem;margin:.2rem 0 1rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.brand,.dim{color:var(--dim)}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
article{border:1px solid var(--line);border-left:5px solid var(--note);
border-radius:6px;padding:.6rem 1rem;margin:.8rem 0}
article.error{border-left-color:var(--bad)}article.warning{border-left-color:var(--warn)}article p{margin:.3rem 0}
b.error{color:var(--bad)}b.warning{color:var(--warn)}b.ok{color:var(--good)}b.info{color:var(--note)}
b.skipped{color:var(--dim)}
pre{background:var(--code);padding:.5rem .7rem;border-radius:4px;overflow:auto;margin:.4rem 0}
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
