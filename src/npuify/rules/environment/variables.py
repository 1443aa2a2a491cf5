"""Environment variables outside Python: in scripts, containers, manifests and lists of variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.knowledge.hand_written import environment
from npuify.knowledge.settings.variables import Translation, fact_of, renamed, stays, translate
from npuify.language import phrase, semicolons
from npuify.model import Safety, Severity
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.knowledge.schema import EnvironmentFact
    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile


@listed("NPU702", "cuda-variable-outside-python", Safety.SAFE, Severity.WARNING)
def VARIABLE(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A script or configuration file sets or reads a variable that CUDA or NCCL uses and Ascend does not.

    Its name changes, and its value with it: order, units and limits. Either all uses of the variable in a file change,
    or none.

    Before::

        export CUDA_VISIBLE_DEVICES="0,1"
        export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
        CUDA_LAUNCH_BLOCKING=1 python train.py --gpus ${CUDA_VISIBLE_DEVICES}

    After::

        export ASCEND_RT_VISIBLE_DEVICES="0,1"
        export HCCL_ASYNC_ERROR_HANDLING=1
        ASCEND_LAUNCH_BLOCKING=1 python train.py --gpus ${ASCEND_RT_VISIBLE_DEVICES}
    """
    raise NotImplementedError


@listed("NPU703", "cuda-variable-without-effect", Safety.MANUAL, Severity.INFO)
def WITHOUT_EFFECT(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A script or configuration file sets a variable that has no effect on Ascend, or is replaced by something else."""
    raise NotImplementedError


_NO_STRING = re.compile(r"(?i)[-+]?\d[\d_.]*|true|false|yes|no|on|off|null|~")
"""Plain words that YAML does not read as strings."""
_NEEDS_QUOTES = re.compile(r"[^\w.,:/-]")


class Setting(NamedTuple):
    """A place that gives a variable a value. ``value`` is its text, None where only the running program knows it.

    ``write`` are the offsets that a new value replaces, and ``quote`` what has to stand around it there where it is
    more than a plain word. ``default`` is the value that it has where the running program finds no other. ``table``
    tells the table that holds it in a file of settings, where a key may stand once; it is empty elsewhere.
    """

    name: str
    start: int
    end: int
    value: str | None
    write: tuple[int, int] | None
    quote: str = ""
    default: str | None = None
    table: str = ""


class Mention(NamedTuple):
    """A place that names a variable without giving it a value; ``default`` is what it takes where there is none."""

    name: str
    start: int
    end: int
    default: str | None = None


def judge_variables(settings: Iterable[Setting], mentions: Iterable[Mention], file: TextFile) -> None:
    """Report the variables of one file, or of a part of it that stands by itself."""
    by_name: dict[str, tuple[list[Setting], list[Mention]]] = {}
    becoming = _Becoming()
    for setting in settings:
        fact = fact_of(setting.name, file.framework)
        becoming.add(setting, _translated(fact, setting).name if fact is not None else setting.name)
        if fact is not None:
            by_name.setdefault(setting.name, ([], []))[0].append(setting)
    for mention in mentions:
        if fact_of(mention.name, file.framework) is not None:
            by_name.setdefault(mention.name, ([], []))[1].append(mention)
    for name, (given, named) in by_name.items():
        _judge(name, given, named, becoming, file)


class _Becoming:
    """What the variables of a file become, to see where two would become the same one."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], set[str]] = {}

    def add(self, setting: Setting, new: str) -> None:
        self._names.setdefault((setting.table, new), set()).add(setting.name)

    def rival(self, setting: Setting, new: str) -> str:
        """Another variable that is set at the same place, becomes the same, and counts instead; empty for none.

        The longer name counts, as ``TORCH_NCCL_BLOCKING_WAIT`` does before ``NCCL_BLOCKING_WAIT``.
        """
        others = self._names.get((setting.table, new), set())
        longer = [name for name in others - {new} if (len(name), name) > (len(setting.name), setting.name)]
        if longer:
            return max(longer)
        # A script may set the same variable for one command after the other, and some of them were migrated before.
        return new if new in others and (setting.table or _is_told_better(setting.name, new)) else ""


def _is_told_better(name: str, new: str) -> bool:
    """Whether a longer name than this one becomes the same variable of Ascend's."""
    return any(fact.npu == new and name in other and name != other for other, fact in environment().items())


def _judge(name: str, given: list[Setting], named: list[Mention], becoming: _Becoming, file: TextFile) -> None:
    fact = fact_of(name, file.framework)
    assert fact is not None
    done = [_translated(fact, setting) for setting in given]
    target = renamed(name, file.framework)
    odd = next((use.default for use in named if use.default is not None and not _stays(fact, use.default)), None)
    # A variable that is read as well keeps one name in the file, or its reader would find nothing.
    blocked = bool(named) and (not target or odd is not None or any(one.name != target for one in done))
    worst = Safety.REVIEW if any(one.safety is Safety.REVIEW for one in done) else Safety.SAFE
    for setting, one in zip(given, done, strict=True):
        if stays(one, name):
            continue
        if not one.name:
            _without(name, setting, one.problem, bool(target), file)
            continue
        edits: list[Replacement | None] = [(setting.start, setting.end, one.name)]
        if one.value is not None:
            place = setting.write
            # Kubernetes takes strings only, and a string may not become a number by losing its letters.
            is_number = file.kind == "yaml" and _NO_STRING.fullmatch(one.value) is not None
            becomes_number = is_number and _NO_STRING.fullmatch(setting.value or "") is None
            quote = setting.quote if becomes_number or _NEEDS_QUOTES.search(one.value) else ""
            edits.append((*place, f"{quote}{one.value}{quote}") if place is not None else None)
        shown = f"{one.name}={one.value}" if one.value is not None else one.name
        rival = becoming.rival(setting, one.name)
        file.report(
            VARIABLE,
            (setting.start, setting.end),
            semicolons(
                filter(None, (phrase("{name} is {shown} on Ascend", name=name, shown=shown), one.problem)),
            ),
            edits=edits if not blocked and not rival else (),
            safety=worst if named else one.safety,
            subject=name,
            evidence=fact.evidence,
            source=fact.source,
            advice=phrase("{rival} is also set here, for the same purpose: remove this one", rival=rival)
            if rival
            else _advice(name, setting, one, fact.message, blocked=blocked),
        )
    for mention in named:
        if target in ("", name):
            continue
        file.report(
            VARIABLE,
            (mention.start, mention.end),
            phrase("{name} is {target} on Ascend", name=name, target=target),
            edits=[(mention.start, mention.end, target)] if not blocked else (),
            safety=worst,
            subject=name,
            evidence=fact.evidence,
            source=fact.source,
            advice=phrase(
                "a value of {name} in this file cannot be translated{odd}; {message}",
                name=name,
                odd=f": {odd}" if odd is not None else "",
                message=fact.message,
            )
            if blocked
            else "",
        )


def _translated(fact: EnvironmentFact, setting: Setting) -> Translation:
    if setting.default is not None and not _stays(fact, setting.default):
        problem = translate(fact, setting.default).problem
        return Translation(
            "", problem=problem or phrase("its default {default!r} has a different form there", default=setting.default)
        )
    return translate(fact, setting.value)


def _stays(fact: EnvironmentFact, value: str) -> bool:
    """Whether a value means the same there as it is written."""
    done = translate(fact, value)
    return bool(done.name) and done.value is None


def _advice(name: str, setting: Setting, done: Translation, message: str, *, blocked: bool) -> str:
    if blocked:
        return phrase("{name} is read elsewhere in this file, and not all uses can be changed", name=name)
    # Of a value that is known and fits, nothing has to be said.
    return message if done.problem or setting.value is None else ""


def _without(name: str, setting: Setting, problem: str, is_renamed: bool, file: TextFile) -> None:
    fact = fact_of(name, file.framework)
    assert fact is not None
    if fact.action == "drop":
        message, severity = phrase("{name} has no effect on Ascend", name=name), Severity.INFO
    else:
        message = semicolons(
            filter(None, (phrase("{name}: {value} on Ascend", name=name, value=fact.npu or "no counterpart"), problem))
        )
        if fact.npu == name and problem:
            message = f"{name}: {problem}"
        # What NCCL alone reads does no harm where it stays.
        harmless = name.startswith(("NCCL_", "TORCH_NCCL_", "CUDNN_", "CUBLAS_"))
        severity = Severity.INFO if harmless else Severity.WARNING
    file.report(
        VARIABLE if is_renamed else WITHOUT_EFFECT,
        (setting.start, setting.end),
        message,
        severity=severity,
        subject=name,
        evidence=fact.evidence,
        source=fact.source,
        advice=fact.message,
    )
