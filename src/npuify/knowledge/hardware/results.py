"""The results of ``npuify selftest``: their form, and a reader that trusts nothing, since results come from
strangers."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from npuify.language import phrase
from npuify.model import Evidence, NpuifyError

VERSION: Final = 1
"""Of the form; another one is refused."""
LARGEST: Final = 32_000_000
"""Bytes of a file that is read."""
MOST: Final = 50_000
"""Outcomes in one result."""
LONGEST_ANSWER: Final = 4000
"""Bytes of JSON that an answer may have."""

Kind = Literal["npu", "simulated", "stand-in"]


class Status(str, Enum):
    """What became of a claim."""

    HELD = "held"
    DIFFERS = "differs"
    """The answer was another one."""
    CRASHED = "crashed"
    """The question ended its process."""
    HUNG = "hung"
    NOT_ASKED = "not asked"


REFUTED: Final = frozenset({Status.DIFFERS, Status.CRASHED, Status.HUNG})


class MachineSeen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The machine: versions and the name of the chip, nothing else."""

    kind: Kind
    """A real NPU, npuify's simulated one, or the real package on npuify's stand-ins for the driver."""
    chip: str = ""
    """As torch.npu.get_device_name() gives it."""
    cards: int = 0
    driver: str = ""
    firmware: str = ""
    cann: str = ""
    torch: str = ""
    torch_npu: str = ""
    python: str = ""
    architecture: str = ""

    @property
    def in_short(self) -> str:
        """``Ascend910B3, CANN 9.1.0, torch_npu 2.14.0``."""
        parts = (self.chip, self.cann and f"CANN {self.cann}", self.torch_npu and f"torch_npu {self.torch_npu}")
        return ", ".join(part for part in parts if part)


class Outcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One claim, and what was seen."""

    id: str
    """Begins with the area: ``names/torch.npu.Event``."""
    claim: str
    """In the language of the run."""
    status: Status
    subject: str = ""
    """The name or code that the claim is about, as ``npuify explain`` takes it."""
    evidence: Evidence = Evidence.ASSUMED
    """How the claim was known before."""
    expected: Any = None
    seen: Any = None
    why: str = ""
    """Of a claim that was not asked: the reason."""

    @property
    def area(self) -> str:
        """The part of the id before the first slash."""
        return self.id.partition("/")[0]


class SelftestResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one run found."""

    version: int
    tool: str
    """The version of npuify."""
    language: str
    complete: bool
    """Whether all claims were asked: no --quick, no --area."""
    machine: MachineSeen
    outcomes: tuple[Outcome, ...]


_WORD = re.compile(r"[\w.+ ()-]{0,80}", re.ASCII)
_ID = re.compile(r"[a-z-]+/[\w .,:;=+*<>'\"()\[\]{}/@!?%&|^~#$-]{1,300}", re.ASCII)
_SUBJECT = re.compile(r"[\w.:/*() -]{0,200}", re.ASCII)
_IN_A_PATH = re.compile(r"(?<![\w.)/])/(?:home|root|usr|opt|tmp|var|etc|mnt|data|Users)\b|\b[A-Za-z]:\\|\.\./")


def read_result(path: Path) -> SelftestResult:
    """A result, checked in every part.

    Raises:
        NpuifyError: it cannot be read, is larger than results are, or is none.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise NpuifyError(
            phrase("cannot be read: {value}", value=error.strerror or str(error)), file=str(path)
        ) from error
    if len(raw) > LARGEST:
        raise NpuifyError(phrase("is larger than a result of npuify selftest can be"), file=str(path))
    try:
        result = msgspec.json.decode(raw, type=SelftestResult)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NpuifyError(phrase("is no result of npuify selftest: {error}", error=error), file=str(path)) from error
    wrong = _wrong_in(result)
    if wrong:
        raise NpuifyError(phrase("is no result of npuify selftest: {error}", error=wrong), file=str(path))
    return result


def _wrong_in(result: SelftestResult) -> str:
    """The first thing in it that no result has; empty where there is none."""
    if result.version != VERSION:
        return phrase("it has form {version}, and this npuify reads {known}", version=result.version, known=VERSION)
    if len(result.outcomes) > MOST:
        return phrase("it has more outcomes than there are claims")
    machine = msgspec.structs.asdict(result.machine)
    words = [result.tool, result.language, *(str(value) for value in machine.values())]
    if not all(_WORD.fullmatch(word) for word in words) or not 0 <= result.machine.cards <= 4096:
        return phrase("what it says of the machine is no version and no name of a chip")
    seen = set[str]()
    for number, outcome in enumerate(result.outcomes, 1):
        if not _ID.fullmatch(outcome.id) or not _SUBJECT.fullmatch(outcome.subject) or outcome.id in seen:
            return phrase("outcome {number} names no claim, or one twice", number=number)
        seen.add(outcome.id)
        texts = (outcome.claim, outcome.why)
        if any(len(text) > 1000 or not text.isprintable() for text in texts):
            return phrase("outcome {number} has a text that is none", number=number)
        if not all(map(_is_plain, (outcome.expected, outcome.seen))):
            return phrase("outcome {number} has an answer that is too large or no answer", number=number)
        if any(_IN_A_PATH.search(text) for text in (*texts, *_texts(outcome.expected), *_texts(outcome.seen))):
            return phrase("outcome {number} names a place on a machine", number=number)
    return ""


def _is_plain(value: object) -> bool:
    if not all(text.isprintable() for text in _texts(value)):
        return False
    return len(msgspec.json.encode(value)) <= LONGEST_ANSWER


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return []
