"""What stands around the message of a line: launchers' prefixes, ranks, times, codes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PREFIXES: Final = (
    # torch: [rank3]:   torchrun --tee: [default3]:   mpirun --tag-output: [1,3]<stderr>:   srun -l: 3:
    re.compile(r"\[rank(?P<rank>\d+)\]:\s?"),
    re.compile(r"\[default(?P<local>\d+)\]:\s?"),
    re.compile(r"\[\d+,(?P<rank>\d+)\]<std(?:err|out|diag)>:\s?"),
    re.compile(r"(?P<rank>\d{1,5}): (?=\S)"),
    # pdsh, DeepSpeed: host:
    re.compile(r"(?P<name>(?:worker|node|host)[\w.-]*): "),
    # Ray, vLLM: (Worker_TP3 pid=465), repeated once by another process
    re.compile(r"\s{0,4}\(?(?P<name>[A-Za-z][\w= ]*?pid=\d+(?:, ip=[\d.]+)?)\)\s?"),
    # determined: [2024-02-27T21:35:28Z] fa88a9df [rank=1] ||
    re.compile(r"\[(?P<time>20[\d:TZ.-]+)\] \w+ (?:\[rank=(?P<rank>\d+)\] )?\|\| ?"),
    # docker compose: name-1  |
    re.compile(r"(?P<name>[A-Za-z][\w.-]*-\d+) +\| ?"),
    # loguru: 2024-09-26 06:12:44 | ERROR | stderr |
    re.compile(
        r"(?P<time>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\S*) \| (?:INFO|WARNING|ERROR|DEBUG|CRITICAL) *\| "
        r"(?:[\w.<>]+(?::[\w.<>]+)* [|-] ?)?"
    ),
    # a launcher of one's own, before torch's: host.log [stderr] [rank3]:
    re.compile(r"(?P<time>(?!\S*(?:Error|Exception)\b)[\w.:,/ \[\]()-]{1,80}?)\[rank(?P<rank>\d+)\]:\s?"),
    # vLLM: ERROR 03-25 06:14:02 [core.py:708]
    re.compile(r"(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d) \[?[\w./]+:\d+\]\s?"),
)
LOCAL: Final = "local rank "
"""How keys begin that count from zero on each node: torchrun's [default3]."""
_LIGHT: Final = re.compile(r"(?:^|[\s\[(|\-:])(?:INFO|DEBUG|WARNING|WARN|Info|Debug)(?:[\s\])|:\-]|$)")
_HEAVY: Final = re.compile(r"ERROR|CRITICAL|FATAL|Error:")
_WARNED: Final = re.compile(
    r"^(?:\S*\.py:\d+: )?(?:[A-Za-z_]\w*\.)*\w*Warning: "
    r"|^\[?W\d{3,4} \d\d:\d\d|^\[W [\w.]+:\d+\]|^warnings?: |^WARN(?:ING)?\b"
)
"""What Python's warnings module and glog call a warning, whatever words follow."""
_TORCH_NPU: Final = re.compile(r"\(PID:(?P<pid>\d+), Device:-?\d+, RankID:(?P<rank>-?\d+)\)")
_PID: Final = re.compile(r"\[PID: (\d+)\]|(?:^|\s)\w+\((\d+),[^)]*\):\d{4}-")
_TIMES: Final = (
    re.compile(
        r"(?P<y>20\d\d)-(?P<mo>\d\d)-(?P<d>\d\d)[-T ](?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?P<f>[.,]\d+(?:\.\d+)*)?"
    ),
    re.compile(r"(?P<y>20\d\d)/(?P<mo>\d\d)/(?P<d>\d\d) (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?P<f>[.,]\d+)?"),
    re.compile(r"(?P<mo>\d\d)/(?P<d>\d\d)/(?P<y>20\d\d) (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?P<f>[.,]\d+)?"),
    re.compile(r"\[[EWIF](?P<mo>\d{1,2})(?P<d>\d\d) (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?P<f>\.\d+)?"),
    re.compile(r"(?<!\d)(?P<mo>\d\d)-(?P<d>\d\d) (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?P<f>[.,]\d+)?"),
)
_DAYS: Final = 372
YEAR: Final = _DAYS * 86400.0
"""Days and seconds of a year in which each month has 31 days."""
CODES: Final = re.compile(
    r"\bERR\d{5}\b|\bE[A-Z]\d{4}\b|\bE[1-9]\d{4}\b"
    r"|(?:[Ee]rror ?(?:[Cc]ode|[Nn]o|[Nn]umber)|runtime result|ErrCode|errno|failed|failure|result"
    r"|ret(?:[Cc]ode|urn)?|error|ERROR|code|\w*[Ss]tatus)"
    r"\s*(?:is|=)?\s*:?\s*\[?(?P<number>[1-5]\d{5})\b"
)

_WAITED_FOR: Final = re.compile(r"remote rank:?\s*\[(\d+)\]|unconnected rank(?:Id)?\s*:?\s*\[(\d+)\]")
_NOT_CONNECTED: Final = re.compile(r"(?:do not|did not|not) connect\w*[^\[]*\branks?(?:Id)?s?:? *\[([\d, -]+)\]")
"""A list of ranks that did not come, as EI0015 has it."""


class Head(NamedTuple):
    """What was before the message, and the message."""

    key: str
    """What tells the line's process apart: ``rank 3``, ``Worker_TP3 pid=465``; empty: nothing does."""
    rank: str
    time: str
    message: str
    light: bool
    """Whether a logger calls the line less than an error: what it names may have been got over."""


def split_head(line: str) -> Head:
    """Take launchers' prefixes off; several may stand before one another."""
    text = _ANSI.sub("", line)
    key = rank = time = ""
    for _ in range(6):
        for pattern in _PREFIXES:
            found = pattern.match(text)
            if found:
                names = found.groupdict()
                if names.get("local") is not None and not rank and not key:
                    rank, key = str(int(names["local"])), f"{LOCAL}{int(names['local'])}"
                if names.get("rank") is not None and (not rank or key.startswith(LOCAL)):
                    rank, key = str(int(names["rank"])), f"rank {int(names['rank'])}"
                elif names.get("name") is not None and not key:
                    key = names["name"]
                if names.get("time") is not None:
                    time = time or names["time"]
                text = text[found.end() :]
                break
        else:
            break
    start = line[:120]
    light = _LIGHT.search(start) is not None and _HEAVY.search(start) is None
    return Head(key, rank, time, text, light or _WARNED.match(text.lstrip()) is not None)


def rank_and_pid(text: str) -> tuple[str, str]:
    """The rank and process that torch_npu or CANN write into a message; empty where they do not."""
    found = _TORCH_NPU.search(text)
    if found:
        rank = found["rank"]
        return ("" if rank.startswith("-") else str(int(rank))), found["pid"]
    pid = _PID.search(text)
    return "", (pid[1] or pid[2]) if pid else ""


def time_of(text: str) -> tuple[str, float]:
    """The first time in ``text`` as it stands there, and as seconds that order lines of one run; -1.0 for none.

    A time without its year is one of the year 0; :func:`without_year` makes it comparable with others.
    """
    for pattern in _TIMES:
        found = pattern.search(text)
        if found:
            parts = found.groupdict()
            month, day = int(parts["mo"]), int(parts["d"])
            year = int(parts.get("y") or 0)
            fraction = re.sub(r"\D", "", parts["f"] or "")
            seconds = int(parts["h"]) * 3600 + int(parts["m"]) * 60 + int(parts["s"])
            days = year * _DAYS + month * 31 + day
            return found[0].lstrip("["), days * 86400.0 + seconds + (float(f"0.{fraction}") if fraction else 0.0)
    return "", -1.0


def without_year(seconds: float) -> float:
    """Seconds as :func:`time_of` gives them, of the year 0 in place of their own."""
    return seconds % YEAR if seconds >= 0 else seconds


def codes_in(text: str) -> list[str]:
    """Codes of the three grammars, each once, as they come."""
    found: dict[str, None] = {}
    for match in CODES.finditer(text):
        found[match["number"] or match[0]] = None
    return list(found)


def waited_for(text: str) -> Iterator[str]:
    """The numbers of ranks that a line says were waited for in vain."""
    for numbers in _WAITED_FOR.findall(text):
        yield from (number for number in numbers if number and int(number) < 1_000_000)
    listed = _NOT_CONNECTED.search(text)
    if listed is not None:
        yield from re.findall(r"\b\d{1,6}\b", listed[1])
