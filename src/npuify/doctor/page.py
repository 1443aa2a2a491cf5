"""The doctor's report as one HTML file that opens offline: no script, no address, everything escaped."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

from npuify.report.html.escape import escaped, shortened

from .model import Status
from .text import VERDICTS, cards_in_short

if TYPE_CHECKING:
    from .model import Machine, Report, Result

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


def render_html(report: Report) -> str:
    """The whole page."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    told = [one for one in report.results if one.status not in (Status.OK, Status.SKIPPED)]
    results = "".join(_result(one) for one in told) or '<p class="dim">Nothing to tell.</p>'
    checks = "".join(
        f'<tr><td><b class="{one.status.value}">{one.status.value}</b></td><td>{escaped(one.title)}</td>'
        f'<td class="dim">{escaped(one.name)}</td></tr>'
        for one in report.checks
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>npuify doctor: {escaped(report.worst.value)}</title>
<style>{_STYLE}</style>
</head>
<body>
<p class="brand">npuify doctor {escaped(report.tool)} · {escaped(shortened(report.source, 120))}</p>
<h1><b class="{report.worst.value}">{escaped(VERDICTS[report.worst])}</b></h1>
<table>{_machine(report.machine)}</table>
<h2>What to do</h2>
{results}
<h2>All checks</h2>
<table>{checks}</table>
<p class="dim">Nothing was changed on the machine.</p>
</body>
</html>
"""


def _machine(machine: Machine) -> str:
    rows = (
        ("System", f"{machine.system} {machine.architecture}".strip()),
        ("Container", machine.container),
        ("Cards", cards_in_short(machine)),
        ("Driver", machine.driver),
        ("Firmware", machine.firmware),
        ("CANN", machine.cann),
        ("Python", machine.python),
        ("torch", machine.torch),
        ("torch_npu", machine.torch_npu),
    )
    return "".join(f"<tr><th>{name}</th><td>{escaped(value)}</td></tr>" for name, value in rows if value)


def _result(result: Result) -> str:
    status = result.status.value
    parts = [f'<article class="{status}"><p><b class="{status}">{status}</b> <b>{escaped(result.message)}</b></p>']
    if result.advice:
        parts.append(f"<p>{escaped(result.advice)}</p>")
    if result.mend is not None:
        where = {"host": "On the host", "shell": "In the shell"}.get(result.mend.place, "On this machine")
        root = ", as root" if result.mend.root else ""
        parts.append(f'<p class="dim">{where}{root}:</p><pre>{escaped(chr(10).join(result.mend.commands))}</pre>')
    known = f" · known from: {escaped(result.source)} ({result.evidence.value})" if result.source else ""
    parts.append(f'<p class="dim">{escaped(result.check)}{known}</p></article>')
    return "".join(parts)
