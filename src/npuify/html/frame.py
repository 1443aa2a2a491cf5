"""The frame of every HTML report: one file that opens offline and asks for nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from npuify.html.escape import escaped
from npuify.language import spoken

_BASE: Final = """
:root{color-scheme:light dark;--line:#d0d7de;--dim:#57606a;--bad:#b42318;--warn:#9a6700;--good:#1a7f37;--note:#0969da;
--other:#cf5b00;--code:#f3f4f6}
@media(prefers-color-scheme:dark){:root{--line:#3d444d;--dim:#9198a1;--bad:#ff7b72;--warn:#d29922;--good:#3fb950;
--note:#4493f8;--other:#f0883e;--code:#21262d}}
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.4rem;margin:.2rem 0 1rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.brand,.dim{color:var(--dim)}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
article{border:1px solid var(--line);border-left:5px solid var(--note);border-radius:6px;padding:.6rem 1rem;
margin:.8rem 0}
article p{margin:.3rem 0}article.error{border-left-color:var(--bad)}article.warning{border-left-color:var(--warn)}
pre{background:var(--code);padding:.5rem .7rem;border-radius:4px;overflow:auto;margin:.4rem 0}
svg{width:100%;height:auto}
"""
"""How the pages without a script look; each adds what it alone has."""
_PLAIN: Final = """
td,th{overflow-wrap:break-word}td code{overflow-wrap:anywhere;display:inline-block;min-width:9em}
th+td:last-child{overflow-wrap:anywhere;min-width:10em}p,li,h1,h2,summary,figcaption{overflow-wrap:anywhere}
figure{margin:1rem 0;overflow-x:auto}
@media(max-width:640px){figure svg{min-width:600px}table{display:block;overflow-x:auto}}
@media print{pre{white-space:pre-wrap}article,tr{break-inside:avoid}}
"""
"""What the pages without a script have in common: on a small screen tables and plots scroll by themselves."""


_LANGUAGES: Final = {"en": "en", "zh": "zh-CN"}
"""What a page says its language is, so that a browser takes the fitting letters."""


def framed(title: str, style: str, body: str, *, script: str = "") -> str:
    """A whole page, whose content security policy lets run only this style and this script.

    Args:
        title: as text; it is escaped here.
        style: the page's own CSS; a page without a script also has that of all such pages.
        body: HTML, escaped already.
        script: the page's JavaScript, which runs behind the body; empty for a page without any.
    """
    style = style if script else _BASE + style + _PLAIN
    scripts = f"script-src '{_digest(script)}'; " if script else ""
    policy = f"default-src 'none'; style-src '{_digest(style)}'; {scripts}base-uri 'none'; form-action 'none'"
    running = f"\n<script>{script}</script>" if script else ""
    return f"""<!DOCTYPE html>
<html lang="{_LANGUAGES[spoken()]}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{escaped(title)}</title>
<style>{style}</style>
</head>
<body>
{body}{running}
</body>
</html>
"""


def _digest(text: str) -> str:
    """As a content security policy names an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
