"""What the text beside a rule's word tells: whether the rule surely has nothing to say there.

A file is parsed for the words that stand in it. Where a word is common and what the rule looks for is rare, a look at
the text around the word is many times cheaper than parsing the function that holds it. Each of these functions gets a
text in lower case and where a word begins and ends in it, and must be sure: True means that no finding is possible
there. In doubt it says False.
"""

from __future__ import annotations

import re

_NEAR = 200
"""Bytes before a word that are looked at."""
_CALLED = re.compile(rb"[\s)\\]*[(#;]")
_COMPARED = re.compile(rb"(?:[=!]=|\b(?:is|not|in))\s*(?:[(\[{][\w\s.,]*)?\btorch\.\Z")
STEP_NAMES = re.compile(rb"loss|criterion|sampl", re.IGNORECASE)
"""What functions are called that compute a loss, or draw from what a model says."""
_BLANK = b" \t\r\n\f\\"


def not_called(lower: bytes, start: int, end: int) -> bool:
    """What is named there is not called: for rules about calls by the name itself."""
    return _CALLED.match(lower, end) is None


def no_attribute(lower: bytes, start: int, end: int) -> bool:
    """The word is no attribute of anything: a keyword, a plain name or a text."""
    before = lower[max(start - _NEAR, 0) : start].rstrip(_BLANK)
    return bool(before) and not before.endswith(b".")


def compared(lower: bytes, start: int, end: int) -> bool:
    """It is something of torch that is compared, or stands in a row beside ``in``: the word follows ``torch.``."""
    return _COMPARED.search(lower, max(start - _NEAR, 0), start) is not None


def outside_steps(lower: bytes, start: int, end: int) -> bool:
    """As :func:`outside_modules`, for places that are in no function at the margin which the file calls either, or
    which trains."""
    if not outside_modules(lower, start, end):
        return False
    function = lower.rfind(b"\ndef ", 0, start)
    name = lower[function + len(b"\ndef ") : lower.find(b"(", function)].strip() if function >= 0 else b""
    if STEP_NAMES.search(name) is not None:
        return False
    if b"def forward" not in lower and b".backward(" not in lower:
        return True
    if b".backward(" in lower and _in_loop_of_training(lower, max(function, 0), start):
        return False
    return not name or lower.count(name + b"(") < 2


def _in_loop_of_training(lower: bytes, begin: int, start: int) -> bool:
    """Whether ``backward`` is called in the same function, or in the file's own code outside of functions."""
    end = min((at for at in (lower.find(b"\ndef ", start), lower.find(b"\nclass ", start)) if at >= 0), default=None)
    return b".backward(" in lower[begin:end]


def outside_functions(lower: bytes, start: int, end: int) -> bool:
    """As :func:`outside_steps`, but what stands in a function of a file that imports PyTorch is kept: steps of other
    files may call it."""
    if not outside_steps(lower, start, end):
        return False
    function = lower.rfind(b"def ", 0, start)
    return function < 0 or b"torch" not in lower


def outside_modules(lower: bytes, start: int, end: int) -> bool:
    """The place is in no class with a ``forward``, as a file's text tells it (with one blank behind each keyword)."""
    in_class = lower.rfind(b"class ", 0, start)
    if in_class < 0 or b"def forward" not in lower:
        return True
    function = max(lower.rfind(b"\ndef ", 0, start), lower.rfind(b"\nasync def ", 0, start))
    # A function at the margin ends the class; between quotes it would be part of a text.
    return function > in_class and not any(lower.count(quotes, 0, function) % 2 for quotes in (b'"""', b"'''"))
