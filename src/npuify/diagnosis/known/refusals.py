"""Settings that a program or package refuses: told by who raised the exception, and by the words of its message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence

from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.diagnosis.model import Frame

REFUSES: Final = re.compile(
    r"^(?:\w+:)?\s*(?:[\w.]*\.)?(?:ValueError|AssertionError|NotImplementedError|RuntimeError|Exception): "
    r"(?P<said>\S.*)"
)
"""Kinds that checks of settings raise."""

_FILES: Final = re.compile(
    r"/(?:configs?|features_manager|hparams)/[\w/]+\.py$"
    r"|/(?:\w*config(?:uration|s)?(?:_\w+)?|\w*args|\w*arguments?|arg_utils|options|settings|validation|parser)\.py$"
)
"""Files in which settings are read and checked."""
_FUNCTIONS: Final = re.compile(
    r"^(?:__post_init__|_?(?:post_|pre_)?(?:validate|verify)(?:_\w+)?|_?check_\w+"
    r"|_?parse_(?:\w*args|\w*config|cli)|from_\w*args|create_\w*config|\w+_args)$"
)
"""Functions that check settings, by the names that such functions have."""
_OF_TENSORS: Final = re.compile(
    r"(?i)\bshapes?\b|\btensors?\b|\bdims?\b|\bdimensions?\b|\bndim\b|\bcontiguous\b|\bgradients?\b|\bindex\b"
    r"|\bstate[_ ]?dict\b|\bmetadata\b|\bcallable\b|\binstance of\b|\btype\b|\bmodule\b|\bhidden_states\b|\bkeys?\b"
    r"|\bin-?place\b|\bstreams?\b|\bhandles?\b|\balready\b|\bnot initialized\b|\bdevice\b|\bdeprecat|Errno"
)
"""Words of checks that are about values of the computation, which no setting changes by itself."""
_SETTING: Final = re.compile(r"--[a-z][\w-]{2,}|`[\w.=-]+`|'[a-z]\w*_\w+'|\b[a-z]+(?:_[a-z0-9]+)+\b|\b\w+\.\w+_\w+\b")
"""How messages name a setting: an option, something in quotes of code, a name with underscores."""
_DEMAND: Final = re.compile(
    r"(?i)\b(?:must|should|cannot|can't|can not|requires?|required|only|needs? to|ha(?:s|ve) to|expected|invalid"
    r"|unknown|unsupported|incompatible|exclusive|together|exceeds?|at least|at most|choose|specify|please)\b"
    r"|\bnot (?:be )?(?:supported|allowed|compatible|valid|permitted|recognized)\b|\b(?:not|n't) support\b"
    r"|\b(?:greater|less|smaller|larger|higher|lower) than\b"
)
AT_WORK: Final = {"forward", "backward", "apply", "__call__", "call", "step", "run", "execute", "generate", "encode"}
"""Functions whose checks are of values, not of settings."""
_OPTION: Final = re.compile(
    r"--[a-z][\w-]{2,}|\bconfig\.\w+|\bargs\.\w+|(?i:\bargument\b|\boption\b|\bconfiguration\b)"
)
"""What makes a name a setting's where nothing tells who raised the exception."""
_ANY_REASON: Final = re.compile(r"RuntimeError|NotImplementedError")
"""Kinds that say less of settings: raised for whatever goes wrong, or is not written yet."""
_PREFIX: Final = re.compile(rb"^(?:\[(?:rank|default)\d+\]:\s?)+")
"""What torchrun puts before each line."""
_INSTALLED: Final = re.compile(r"(?i)[/\\](?:site|dist)-packages[/\\]")


def refusal_match(text: str, frames: Sequence[Frame]) -> Match | None:
    """What it says that a check of settings failed; None where nothing shows that it is one.

    Args:
        text: a line, usually the exception that ended a traceback.
        frames: the traceback's frames; may be empty.
    """
    found = REFUSES.search(text)
    if found is None or _OF_TENSORS.search(found["said"]):
        return None
    last = frames[-1] if frames else None
    if last is not None and (_FILES.search(last.file) or _FUNCTIONS.search(last.function)):
        return _match(weight=52)
    if last is None:
        checks = _OPTION.search(found["said"]) is not None
    else:
        checks = _INSTALLED.search(last.file) is not None and last.function not in AT_WORK
    named = _SETTING.search(found["said"]) is not None and _DEMAND.search(found["said"]) is not None
    if checks and named and not _ANY_REASON.search(text[: found.start("said")]):
        return _match(weight=44)
    return None


_ASSERTS: Final = re.compile(rb"^\s*assert\b.*\b(?:args|config|cfg|opts?|options|hparams|FLAGS|conf)\.\w+")
_ASKS_CUDA: Final = re.compile(rb"^\s*assert\b.*\b(?:torch\.)?cuda\.(?:is_available|device_count)\(\)")
_ABOVE: Final = 4


def assertion_match(text: str, above: Sequence[bytes]) -> Match | None:
    """What it says that an assertion failed whose source names a setting, or asks for CUDA; None for others.

    Args:
        text: a line, usually the exception that ended a traceback.
        above: the lines before it, the source of its last frame among them.
    """
    if "AssertionError" not in text or "Assertion" not in text[:60]:
        return None
    lines = [_PREFIX.sub(b"", line) for line in above[-_ABOVE:]]
    if any(map(_ASKS_CUDA.search, lines)):
        return _asks_cuda()
    source = next((line for line in reversed(above[-_ABOVE:]) if _ASSERTS.search(_PREFIX.sub(b"", line))), None)
    return None if source is None or _OF_TENSORS.search(source.decode("utf-8", "replace")) else _match(weight=50)


def _asks_cuda() -> Match:
    why = phrase("The program demands CUDA before it starts, and there is none on this machine.")
    return Match(
        name="assertion-of-cuda",
        meaning=why,
        cause="cuda-left",
        role="cause",
        weight=80,
        evidence=Evidence.ASSUMED,
        source="the source of the assertion, as the traceback shows it",
        why=why,
        fix=phrase(
            "Ask torch.npu.is_available() in its place; npuify scan names the place, and npuify migrate edits it."
        ),
    )


def _match(*, weight: int) -> Match:
    why = phrase("A check of the settings refuses one, or one that follows from several; the message names it.")
    return Match(
        name="settings-checked",
        meaning=why,
        cause="usage",
        role="cause",
        weight=weight,
        evidence=Evidence.ASSUMED,
        source="where the traceback ends, and the words that such checks use",
        why=why,
        fix=phrase("Change the setting that the message names, in the command line or configuration of the run."),
    )
