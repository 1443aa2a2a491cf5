"""Where the documentation of rules is, for reports that link to it.

npuify knows no server: a site that somebody keeps (``python -m tools.site build`` makes it) is named by the environment
variable ``NPUIFY_DOCS_URL``. It is not taken from a project's settings, since a scanned project is not trusted to say
where the links of a report lead.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from npuify.language import phrase
from npuify.model import NpuifyError

VARIABLE = "NPUIFY_DOCS_URL"


def rule_page(code: str) -> str:
    """The page of the site with a rule of npuify's, below its root, and the place on it: it never changes."""
    return f"reference/rules/{code.lower()[:4]}xx.html#{code.lower()}"


def rule_address(code: str) -> str:
    """The address of a rule's documentation; empty where no site is named, and for rules of a project's own.

    Raises:
        NpuifyError: ``NPUIFY_DOCS_URL`` is no address of a site.
    """
    root = os.environ.get(VARIABLE, "").strip()
    if not root or not (code.startswith("NPU") and code[3:].isdigit()):
        return ""
    parts = urlsplit(root)
    if parts.scheme not in ("http", "https", "file") or not (parts.netloc or parts.path):
        raise NpuifyError(
            phrase("{variable} is {root!r}, which is no address of a site", variable=VARIABLE, root=root),
            advice="name the folder of the site that has index.html, as https://docs.example.org/npuify/",
        )
    return f"{root.rstrip('/')}/{rule_page(code)}"
