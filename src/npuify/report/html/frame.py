"""The frame of every HTML report: one file that opens offline and asks for nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from .escape import escaped

_PLAIN: Final = """
td,th{overflow-wrap:break-word}td code{overflow-wrap:anywhere;display:inline-block;min-width:9em}
th+td:last-child{overflow-wrap:anywhere;min-width:10em}p,li,h1,h2,summary,figcaption{overflow-wrap:anywhere}
figure{margin:1rem 0;overflow-x:auto}
@media(max-width:640px){figure svg{min-width:600px}table{display:block;overflow-x:auto}}
@media print{pre{white-space:pre-wrap}article,tr{break-inside:avoid}}
"""
"""What the pages without a script have in common: on a small screen tables and plots scroll by themselves."""


def framed(title: str, style: str, body: str, *, script: str = "") -> str:
    """A whole page, whose content security policy lets run only this style and this script.

    Args:
        title: as text; it is escaped here.
        style: the page's CSS.
        body: HTML, escaped already.
        script: the page's JavaScript, which runs behind the body; empty for a page without any.
    """
    style = style if script else style + _PLAIN
    scripts = f"script-src '{_digest(script)}'; " if script else ""
    policy = f"default-src 'none'; style-src '{_digest(style)}'; {scripts}base-uri 'none'; form-action 'none'"
    running = f"\n<script>{script}</script>" if script else ""
    return f"""<!DOCTYPE html>
<html lang="en">
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
