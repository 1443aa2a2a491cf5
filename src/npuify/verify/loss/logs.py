"""Loss curves in the plain logs of programs, by pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.model import NpuifyError

from .points import counted, make_curve, number, whole

if TYPE_CHECKING:
    from .model import Curve

_NUMBER: Final = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)"
_LOSS: Final = re.compile(
    rf"(?:(?P<before>[A-Za-z]+)[ ])?(?<![\w/.-])(?P<name>[\w/.-]*loss)['\"]?\s*(?:[:=]|\bis\b|\s)\s*['\"]?"
    rf"(?:tensor\()?(?P<loss>{_NUMBER})(?![\w.]*[A-Za-z])",
    re.IGNORECASE,
)
_STEP: Final = re.compile(
    r"(?<![\w.])(?:global[_ ]?step|steps?|iter(?:ation)?s?|iter_num|num_updates|batch|it)\b['\"]?\s*[:=#\[(]?\s*['\"]?"
    r"(?P<step>\d+)(?![\d.]*[eE.]\d)",
    re.IGNORECASE,
)
_EPOCH: Final = re.compile(r"epoch\s*\D{0,14}?\[?\s*(?P<epoch>\d+)", re.IGNORECASE)
_IN_EPOCH: Final = re.compile(r"\[\s*(?P<step>\d+)\s*/\s*\d+(?:\s*\(\s*\d+(?:\.\d+)?%\))?\s*\]")
_OF: Final = re.compile(r"(?P<step>\d+)\s*/\s*\d+\s*(?:batch|step|it)", re.IGNORECASE)
_TQDM: Final = re.compile(r"(?P<step>\d+)/\d+\s*\[\d+:\d+")
_OTHER: Final = re.compile(r"\b(val|valid|validation|eval|evaluation|test|dev)\w*\b", re.IGNORECASE)
_LONGEST: Final = 4096
"""Characters of a line that are looked at: what is longer is no line about a loss."""


def read_log(text: str, file: str, metric: str = "", pattern: str = "") -> Curve:
    """The loss in each line that tells one of training.

    A line's step is what follows ``step``, ``iter``, ``batch`` or ``it``, or stands in brackets (``[10/100]``); where
    none does, or they start again with every epoch, lines are counted.

    Args:
        metric: the word before the number, where it is not ``loss``.
        pattern: a regular expression with the group ``loss``, and ``step`` where lines name it; then nothing else is
            looked for.

    Raises:
        NpuifyError: the pattern is no regular expression or has no such group; no line tells a loss.
    """
    wanted = _compiled(pattern, metric)
    series: dict[tuple[str, str], list[tuple[int | None, float]]] = {}
    skipped = 0
    # A carriage return is where a progress bar writes over itself.
    for line in re.split(r"[\r\n]+", text):
        if len(line) > _LONGEST:
            continue
        told = _training_loss(line) if wanted is None else _by_pattern(wanted, line)
        if told is None:
            skipped += wanted is None and "loss" in line.lower()
            continue
        name, value, step, word = told
        points = series.setdefault((name, word), [])
        # A progress bar writes one step many times.
        if points and step is not None and points[-1][0] == step and "\r" in text:
            points[-1] = (step, value)
        else:
            points.append((step, value))
    if not series:
        raise NpuifyError(
            "no line of it tells a loss of training",
            advice="give a pattern: --pattern 'step (?P<step>\\d+).*loss (?P<loss>\\S+)'",
            file=file,
        )
    # Programs print one loss with each step and another one, averaged, now and then.
    name, word = max(series, key=lambda one: len(series[one]))
    points = series.pop((name, word))
    notes = [
        f"{counted(len(others), 'line')} with {other!r}{f' by {by!r}' if by else ''} left out"
        for (other, by), others in series.items()
    ]
    if skipped:
        notes.append(f"{counted(skipped, 'line')} about a loss of validation, or without a number, left out")
    if any(step is None for step, _ in points):
        points = [(None, value) for _, value in points]
    return make_curve(file, "log", metric or name, points, notes)


def _compiled(pattern: str, metric: str) -> re.Pattern[str] | None:
    if not pattern and not metric:
        return None
    if not pattern:
        return re.compile(rf"(?<![\w/.-]){re.escape(metric)}['\"]?\s*[:=]?\s*['\"]?(?P<loss>{_NUMBER})", re.IGNORECASE)
    try:
        made = re.compile(pattern)
    except re.error as error:
        raise NpuifyError(f"--pattern is no regular expression: {error}") from None
    if "loss" not in made.groupindex:
        raise NpuifyError("--pattern has no group named loss", advice="write (?P<loss>...) around the number")
    return made


def _by_pattern(wanted: re.Pattern[str], line: str) -> tuple[str, float, int | None, str] | None:
    match = wanted.search(line)
    value = number(match["loss"]) if match is not None else None
    if match is None or value is None:
        return None
    step = whole(match["step"]) if "step" in wanted.groupindex else _step(line)[0]
    return "loss", value, step, ""


def _training_loss(line: str) -> tuple[str, float, int | None, str] | None:
    """Name and value of the loss in a line, its step, and the word before the step."""
    if "loss" not in line and "Loss" not in line and "LOSS" not in line:
        return None
    found: list[tuple[str, float]] = []
    for match in _LOSS.finditer(line):
        name = f"{match['before'] or ''} {match['name']}".lower()
        if _OTHER.search(name) or re.search(r"(val|eval|test)[_ /.-]", name) or "scale" in name:
            continue
        value = number(match["loss"])
        if value is not None:
            before = (match["before"] or "").lower()
            plain = match["name"].lower()
            found.append((f"{before} {plain}" if before in ("train", "training", "lm", "total") else plain, value))
    if not found or (_OTHER.match(line.lstrip(" [")) and not re.search(r"train", line, re.IGNORECASE)):
        return None
    step, word = _step(line)
    for plain in ("loss", "train_loss", "train/loss", "total_loss", "lm loss"):
        for name, value in found:
            if name == plain:
                return name, value, step, word
    return *found[0], step, word


def _step(line: str) -> tuple[int | None, str]:
    """A line's step, and the word that names it."""
    inside = _IN_EPOCH.search(line)
    if inside is not None and _EPOCH.search(line):
        return whole(inside["step"]), "epoch"
    match = _STEP.search(line)
    if match is not None:
        return whole(match["step"]), re.sub(r"[^a-z_].*", "", match[0].lower())
    match = _OF.search(line) or inside or _TQDM.search(line)
    return (whole(match["step"]), "of") if match is not None else (None, "")
