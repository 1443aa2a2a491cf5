"""Loss curves in the plain logs of programs, by pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.language import commas, phrase
from npuify.model import NpuifyError

from .choose import choose, is_loss
from .points import counted, make_curve, number, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .model import Curve

_NUMBER: Final = r"[-+]?(?:\d{1,3}(?:,\d{3})+\.\d+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)"
"""A number; thousands may be parted by commas where a decimal point shows that they are."""
_LOSS: Final = re.compile(
    rf"(?:(?<![\w./])(?P<before>[A-Za-z]+)\.?[ ])?(?<![\w/.-])(?P<name>[\w/.-]*loss(?:[_/](?:step|iter|batch|epoch))?)"
    r"(?:\s*\((?:batch|step|train|total|avg|average|mean)\)|\s(?:train|training|value)\b)?['\"]?"
    rf"\s*(?:[:=]|\bis\b|\s)\s*['\"]?(?:(?P<number>\d+)\s+(?=\d+\.\d))?"
    rf"(?:tensor\()?(?P<loss>{_NUMBER})(?![\w.]*[A-Za-z])",
    re.IGNORECASE,
)
"""``number``: programs such as Tacotron 2 write the step between the word and the loss."""
_NO_NAMES: Final = frozenset(
    "a an and at batch by current debug epoch final has info is it its iteration log new of our per running step the "
    "then this warning with".split()
)
"""Words before "loss" that do not name which one it is; those of epochs and averages do."""
_AVERAGED: Final = frozenset(("average", "avg", "epoch", "mean", "final", "running", "smoothed"))
_STEP: Final = re.compile(
    r"(?<![\w.])(?P<word>global[_ ]?step|steps?|iter(?:ation)?s?|iter_num|num_updates|batch|it)\b['\"]?"
    r"\s*[:=#\[(]?\s*['\"]?(?:\[\s*(?:\d+\s*,\s*)+)?(?P<step>\d+)(?![\d,]*(?:\.\d|[A-Za-z%]))",
    re.IGNORECASE,
)
_EPOCH: Final = re.compile(
    r"epoch['\"]?\s*[:=#]?\s*\[?\s*(?P<epoch>\d+)(?!\d*\.\d)(?:\s*/\s*\d+)?\s*\]?", re.IGNORECASE
)
_IN_EPOCH: Final = re.compile(r"\[\s*(?P<step>\d+)\s*/\s*\d+(?:\s*\(\s*\d+(?:\.\d+)?%\))?\s*\]")
_AFTER_EPOCH: Final = re.compile(r"epoch\W*\(\s*(?P<step>\d+)\s*/\s*\d+\s*\)", re.IGNORECASE)
_OF: Final = re.compile(r"(?P<step>\d+)\s*/\s*\d+\s*(?:batch|step|it)", re.IGNORECASE)
_BAR: Final = re.compile(r"(?P<step>\d+)/\d+\s*(?:\[\d+:\d+|\[[=>.]{3})")
_OTHER: Final = re.compile(r"\b(val|valid|validation|eval|evaluation|test|dev)\w*\b", re.IGNORECASE)
_ELSEWHERE: Final = re.compile(
    r"(?<![\w./\\-])(val|valid|validat\w+|eval|evaluat\w+|test|testing|dev|cv)(?![\w./\\-])", re.IGNORECASE
)
_PROCESS: Final = re.compile(r"^\s*(?:\[(?:rank|default|trainer|worker)?(\d+)\]:|\[\d+,(\d+)\]<std(?:out|err)>:?)")
"""What torchrun and mpirun put before the lines of each process."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x08+")
_ROW: Final = re.compile(rf"^\s*\|\s*(?P<name>[\w/.() -]*?[\w)])\s*\|\s*(?P<value>{_NUMBER})\s*\|\s*$", re.IGNORECASE)
_LONGEST: Final = 4096
"""Characters of a line that are looked at: what is longer is no line about a loss."""


class _Told(NamedTuple):
    """What one line tells."""

    losses: dict[str, float]
    step: int | None
    word: str
    """What names the step."""


_NOTHING: Final = _Told({}, None, "")


def read_log(text: str, file: str, metric: str = "", pattern: str = "") -> Curve:
    """The loss in each line that tells one of training.

    A line's step is what follows ``step``, ``iter``, ``batch`` or ``it``, or stands in brackets (``[10/100]``), or the
    epoch; where none does, or they start again with every epoch, lines are counted. Of several processes in one file
    the first one counts.

    Args:
        metric: the word before the number, where it is not ``loss``.
        pattern: a regular expression with the group ``loss``, and ``step`` where lines name it; then nothing else is
            looked for.

    Raises:
        NpuifyError: the pattern is no regular expression or has no such group; no line tells a loss, or each tells
            several and none of them is plainly the one.
    """
    wanted = _compiled(pattern, metric)
    series: dict[tuple[str, str], list[tuple[int | None, float]]] = {}
    skipped = 0
    bar = "\r" in text.replace("\r\n", "\n")
    lines, others = _of_one_process(_lines(text))
    for line in lines:
        told = _training_losses(line) if wanted is None else _by_pattern(wanted, line)
        if told is None:
            skipped += wanted is None and "loss" in line.lower()
            continue
        for name, value in told.losses.items():
            points = series.setdefault((name, told.word), [])
            # A progress bar writes one step many times.
            if bar and points and told.step is not None and points[-1][0] == told.step:
                points[-1] = (told.step, value)
            else:
                points.append((told.step, value))
    if not series and metric and not pattern:
        names = dict.fromkeys(name for line in lines for name in (_training_losses(line) or _NOTHING).losses)
        raise NpuifyError(
            phrase("it has no line with {metric!r} and a number", metric=metric),
            advice=phrase("it has these losses: {list}", list=commas(list(names)[:12]))
            if names
            else "specify the word before the number",
            file=file,
        )
    if not series:
        raise NpuifyError(
            "it has no line with a training loss",
            advice="specify a pattern: --pattern 'step (?P<step>\\d+).*loss (?P<loss>\\S+)'",
            file=file,
        )
    name, word = _chosen(series, file)
    points = series[(name, word)]
    notes = [
        phrase(
            "{lines} with {other!r}{value} left out",
            lines=counted(len(found), "line"),
            other=other,
            value=f" by {by!r}" if by else "",
        )
        for (other, by), found in series.items()
        if (other, by) != (name, word)
    ]
    if others:
        notes.append(phrase("{lines} from other processes ignored", lines=counted(others, "line")))
    if skipped:
        notes.append(
            phrase("{lines} about a validation loss, or without a number, ignored", lines=counted(skipped, "line"))
        )
    again = word == "epoch" and any(one[0] == two[0] for one, two in zip(points, points[1:], strict=False))
    if again or any(step is None for step, _ in points):
        points = [(None, value) for _, value in points]
    return make_curve(file, "log", metric or name, points, notes)


def _lines(text: str) -> Iterator[str]:
    """The lines of a log without colours; a table of names and values between rules is one line."""
    table: list[str] = []
    # A carriage return is where a progress bar writes over itself.
    for line in re.split(r"[\r\n]+", text):
        if len(line) > _LONGEST:
            continue
        line = _COLOUR.sub("", line)
        row = _ROW.match(line)
        if row is not None:
            table.append(f"{row['name'].strip()}: {row['value']}")
            continue
        if table and not re.match(r"^\s*\|", line):
            yield " | ".join(table)
            table = []
        yield line
    if table:
        yield " | ".join(table)


def _of_one_process(lines: Iterable[str]) -> tuple[list[str], int]:
    """The lines of the process with the smallest number that tells a loss, and how many of others there are."""
    found = [(_PROCESS.match(line), line) for line in lines]
    telling = {_rank(match) for match, line in found if match is not None and "loss" in line.lower()}
    kept = [
        line[match.end() :] if match else line
        for match, line in found
        if not match or _rank(match) == min(telling, default=0)
    ]
    left = sum("loss" in line.lower() for match, line in found if match and _rank(match) != min(telling, default=0))
    return kept, left


def _rank(match: re.Match[str]) -> int:
    return int(match[1] or match[2])


def _chosen(series: dict[tuple[str, str], list[tuple[int | None, float]]], file: str) -> tuple[str, str]:
    """The loss that is plainly the one: programs print one with each step, and another, averaged, now and then."""
    most = max(map(len, series.values()))
    often = [one for one, points in series.items() if 2 * len(points) >= most]
    single = [one for one in often if one[0].split(" ")[0] not in _AVERAGED] or often
    names = list(dict.fromkeys(name for name, _ in single))
    name = names[0] if len(names) == 1 else choose(filter(is_loss, names), "", file)
    return max((one for one in series if one[0] == name), key=lambda one: len(series[one]))


def _compiled(pattern: str, metric: str) -> re.Pattern[str] | None:
    if not pattern and not metric:
        return None
    if not pattern:
        return re.compile(
            rf"(?<![\w/.-]){re.escape(metric)}['\"]?\s*[:=|]?\s*['\"]?(?P<loss>{_NUMBER})(?![\w.]*[A-Za-z])",
            re.IGNORECASE,
        )
    try:
        made = re.compile(pattern)
    except re.error as error:
        raise NpuifyError(phrase("--pattern is not a regular expression: {error}", error=error)) from None
    if "loss" not in made.groupindex:
        raise NpuifyError("--pattern has no group named loss", advice="write (?P<loss>...) around the number")
    return made


def _by_pattern(wanted: re.Pattern[str], line: str) -> _Told | None:
    match = wanted.search(line)
    value = number((match["loss"] or "").replace(",", "")) if match is not None else None
    if match is None or value is None:
        return None
    step = whole(match["step"]) if "step" in wanted.groupindex else _step(line)[0]
    return _Told({"loss": value}, step, "")


def _training_losses(line: str) -> _Told | None:
    """The losses in a line by their names, its step, and the word before the step."""
    if "loss" not in line and "Loss" not in line and "LOSS" not in line:
        return None
    found: dict[str, float] = {}
    between: int | None = None
    begin = len(line)
    for match in _LOSS.finditer(line):
        before = (match["before"] or "").lower()
        name = f"{before} {match['name']}".lower()
        if _OTHER.search(name) or re.search(r"(val|eval|test)[_ /.-]", name) or "scale" in name:
            continue
        value = number(match["loss"].replace(",", ""))
        if value is None:
            continue
        plain = match["name"].lower()
        found.setdefault(f"{before} {plain}" if before and before not in _NO_NAMES else plain, value)
        between = whole(match["number"]) if between is None else between
        begin = min(begin, match.start("name"))
    if not found:
        return None
    other = _OTHER.match(line.lstrip(" [")) or _ELSEWHERE.search(line, 0, begin)
    if other and not re.search(r"train", line, re.IGNORECASE):
        return None
    step, word = _step(line) if between is None else (between, "loss")
    return _Told(found, step, word)


def _step(line: str) -> tuple[int | None, str]:
    """A line's step, and the word that names it."""
    epoch = _EPOCH.search(line)
    # "Epoch [1/5], Step [3/9]": the first pair of brackets is not the step.
    rest = line[: epoch.start()] + "epoch " + line[epoch.end() :] if epoch is not None else line
    named = _STEP.search(rest)
    inside = _IN_EPOCH.search(rest) or _AFTER_EPOCH.search(rest)
    if inside is not None and re.search("epoch", line, re.IGNORECASE) and not _plainly(named):
        return whole(inside["step"]), "in epoch"
    if named is not None:
        return whole(named["step"]), named["word"].lower()
    match = _OF.search(rest) or inside or _BAR.search(rest)
    if match is not None:
        return whole(match["step"]), "of"
    return (whole(epoch["epoch"]), "epoch") if epoch is not None else (None, "")


def _plainly(named: re.Match[str] | None) -> bool:
    """Whether it names a step, and not the size of a batch."""
    return named is not None and named["word"].lower() not in ("batch", "it")
