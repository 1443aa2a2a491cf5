"""Settings that name a device, a backend or a precision, in files of settings and as options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.analysis.flow.device_names import DEVICE_NAME
from npuify.knowledge.settings.frameworks import setting_fact
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.backend_words import BACKEND_WORD
from npuify.rules.common.packages.rows import package_of
from npuify.rules.environment.options import NEAR_BACKEND, counterpart, is_backend, last_name
from npuify.rules.environment.variables import Mention, Setting, judge_variables
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.environment.options import Pair
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.settings import Document, Value

_IN_TORCH = "torch_npu registers the backend hccl and the device npu with torch"
_TABLE = "the table of settings; npuify says the source with each finding"


@listed("NPU730", "nccl-setting", Safety.SAFE, example_file="train.yaml", evidence=Evidence.PACKAGE, source=_IN_TORCH)
def NCCL(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A setting selects the NCCL backend; Ascend's collective communication library is HCCL.

    Before::

        dist_params:
          backend: nccl

    After::

        dist_params:
          backend: hccl
    """
    raise NotImplementedError


@listed(
    "NPU731", "cuda-device-setting", Safety.SAFE, example_file="train.yaml", evidence=Evidence.PACKAGE, source=_IN_TORCH
)
def DEVICE(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A setting whose key refers to a device names a CUDA device. In prose, paths and names it stays.

    Before::

        name: baseline-cuda
        model:
          device: cuda:0
        devices: [cuda:0, "cuda:1"]

    After::

        name: baseline-cuda
        model:
          device: npu:0
        devices: [npu:0, "npu:1"]

    So does a setting that gives the name of something of ``torch.cuda``, as Hydra's ``_target_`` does.
    """
    raise NotImplementedError


@listed("NPU732", "gpu-setting", Safety.SAFE, example_file="config.yaml", evidence=Evidence.PACKAGE, source=_TABLE)
def RENAMED(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A framework's setting has a different value for NPUs.

    Before::

        compute_environment: LOCAL_MACHINE
        distributed_type: MULTI_GPU
        gpu_ids: all

    After::

        compute_environment: LOCAL_MACHINE
        distributed_type: MULTI_NPU
        gpu_ids: all
    """
    raise NotImplementedError


@listed("NPU733", "cuda-only-setting", Safety.MANUAL, evidence=Evidence.PACKAGE, source=_TABLE)
def CUDA_ONLY(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A framework's setting requests a feature that an NPU does not have."""
    raise NotImplementedError


_OF_CUDA = (
    *("torch.cuda.", "apex.", "flash_attn.", "xformers.", "transformer_engine.", "bitsandbytes.", "deepspeed.ops."),
    *("fused_", "nvidia.", "tensorrt.", "torch_tensorrt.", "cupy.", "cuml.", "spconv.", "MinkowskiEngine."),
)
"""How names of Python begin that settings may give and an NPU may lack."""
_OUTCOME = re.compile(r"(?i)(?:^|[/_.-])(?:results?|logs?|metrics|report|stats|history|output|benchmark)s?(?:[/_.-]|$)")
_INTERPOLATED = re.compile(rb"\$\{(?:oc\.)?env:[\"']?([A-Z][A-Z0-9_]+)")
_FALLBACK = re.compile(r"\$\{oc\.(?:env|select):[^{},]+,\s*(?P<value>[^{},\s]+)\s*\}")
_NUMBERED = re.compile(r"cuda:\d+")
_CODE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{3,}")
_ASSIGNED = re.compile(r"([A-Z][A-Z0-9_]{3,})(?:=(.*))?", re.DOTALL)
_FOR_VARIABLES = frozenset(("environment", "env", "env_vars", "build_args", "args", "variables"))


def judge_option(pair: Pair, file: TextFile) -> None:
    """Report an option of a framework whose value has to change."""
    value = pair.value
    if value.is_literal and value.value:
        # A key that a script passes to itself tells nothing of a framework.
        _judge_fact((last_name(pair.option),), value.value, value.span(0, len(value.value)), file)


def judge_settings(document: Document, file: TextFile) -> None:
    """Report the settings of a file, by their keys and values."""
    is_data = file.kind == "json" and _OUTCOME.search(file.relative) is not None
    for value in document.values:
        if value.quote in ("|", ">"):
            continue
        fallback = _FALLBACK.fullmatch(value.text) if "${oc." in value.text and value.text.isascii() else None
        if fallback is not None and "\\" not in value.text:
            start, end = fallback.span("value")
            value = value._replace(
                text=fallback.group("value"), start=value.start + start, end=value.start + end, quote="'"
            )
        if counterpart(value.text):
            named = _judge_of_another(value, document, file) or _judge_name(value, file, is_data=is_data)
        else:
            named = _judge_code(value, file)
        if not named:
            _judge_fact(value.path, value.text, (value.start, value.end), file)
    _judge_variables(document, file)


_LINE_OF_SETTING = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?[\"']?(?P<key>[A-Za-z_][\w.-]*)[\"']?[ \t]*[:=][ \t]*"
    rb"[\"']?(?P<value>cuda(?::\d+)?|nccl)[\"']?[ \t]*(?:,[ \t]*)?(?:#[^\n]*)?\r?$",
    re.MULTILINE | re.IGNORECASE,
)


def judge_unreadable(problem: str, line: int, file: TextFile) -> None:
    """Report the lines of a file that is not of its format on which a setting seems to name a device or backend.

    Args:
        problem: why it cannot be read.
        line: where; 0 where that cannot be told.
        file: the file.
    """
    plan = file.run.plan
    if plan.style == "auto" and plan.entries:
        return
    told = phrase("{problem} in line {line}", problem=problem, line=line) if line else problem
    for match in _LINE_OF_SETTING.finditer(file.data):
        key, value = match["key"].decode(), match["value"].decode()
        backend = is_backend(value)
        if not counterpart(value) or not (BACKEND_WORD if backend else DEVICE_NAME).search(last_name(key)):
            continue
        file.report(
            NCCL if backend else DEVICE,
            match.span("value"),
            phrase(
                "{key} seems to name {value}; the file cannot be read: {told}",
                key=key,
                value="NCCL" if backend else phrase("the CUDA device {value}", value=value),
                told=told,
            ),
            severity=Severity.WARNING,
            subject="nccl" if backend else "cuda",
            advice=phrase(
                "write {counterpart} if a program reads this file nevertheless", counterpart=counterpart(value)
            ),
        )


_OF_ANOTHER = {
    "XGBoost and LightGBM": frozenset(
        ("tree_method", "num_leaves", "boosting_type", "booster", "min_child_weight", "colsample_bytree", "grow_policy")
    ),
    "CTranslate2": frozenset(("compute_type", "cpu_threads", "vad_filter")),
}
"""Settings that only these libraries have: a device beside them is theirs."""


def _judge_of_another(value: Value, document: Document, file: TextFile) -> bool:
    """Report a device that stands among the settings of a library which has no word for an NPU.

    Returns:
        Whether it does.
    """
    if is_backend(value.text) or value.key not in ("device", "device_type"):
        return False
    beside = {one.key for one in document.values if one.path[:-1] == value.path[:-1]}
    library = next((name for name, keys in _OF_ANOTHER.items() if keys & beside), "")
    if library:
        file.report(
            DEVICE,
            (value.start, value.end),
            phrase(
                "{key} stands among settings of {library}: on the CPU and on CUDA only", key=value.key, library=library
            ),
            subject="cuda",
            advice="write cpu, or leave it out",
        )
    return bool(library)


def _judge_name(value: Value, file: TextFile, *, is_data: bool) -> bool:
    """Report a setting that names a device or backend.

    Returns:
        Whether it does, as far as its key tells.
    """
    plan = file.run.plan
    if plan.style == "auto" and plan.entries:
        # The programs keep CUDA's names, compare with them, and transfer_to_npu translates them when they run.
        return True
    backend = is_backend(value.text)
    key = last_name(value.key)
    named = BACKEND_WORD.search(key) if backend else DEVICE_NAME.search(key)
    unusual = named is None and not is_data and _NUMBERED.fullmatch(value.text) is not None
    if named is None and not unusual and not (backend and NEAR_BACKEND.search(key)):
        return False
    edits: list[Replacement] = [(value.start, value.end, counterpart(value.text))]
    sure = named is not None and not is_data
    advice = "" if sure else "this may be a record of a past run, not a setting"
    if unusual:
        edits, advice = (
            [],
            phrase("write {counterpart} if a program uses it as a device", counterpart=counterpart(value.text)),
        )
    file.report(
        NCCL if backend else DEVICE,
        (value.start, value.end),
        phrase("{key} names NCCL; on the NPU it is HCCL", key=value.key)
        if backend
        else phrase("{key} names the CUDA device {text}", key=value.key, text=value.text),
        edits=edits,
        safety=Safety.SAFE if sure else Safety.REVIEW,
        severity=Severity.ERROR if sure else Severity.WARNING,
        subject="nccl" if backend else "cuda",
        advice=advice,
    )
    return True


def _judge_code(value: Value, file: TextFile) -> bool:
    """Report a name of Python that a setting gives, as Hydra's ``_target_`` and Lightning's ``class_path`` do.

    Returns:
        Whether the value is one that was reported.
    """
    name = value.text
    if not name.startswith(_OF_CUDA) or not _CODE_NAME.fullmatch(name):
        return False
    if name.startswith("torch.cuda."):
        found = file.release.counterpart(name)
        if found is None:
            return False
        file.report(
            DEVICE if found.npu_import else CUDA_ONLY,
            (value.start, value.end),
            found.message,
            edits=[(value.start, value.end, found.npu_import)] if found.npu_import else (),
            safety=Safety.SAFE if found.status == "same" else Safety.REVIEW,
            evidence=found.evidence,
            source=found.source,
            subject=name,
            advice=found.meaning.advice if found.meaning else "",
        )
        return True
    row = package_of(name)
    if row is None or row.status == "native":
        return False
    file.report(
        CUDA_ONLY,
        (value.start, value.end),
        phrase("{name}: {message}", name=name, message=row.message),
        severity=row.severity,
        evidence=row.evidence,
        source=row.source,
        subject=name,
        advice=row.advice,
    )
    return True


def _judge_fact(path: tuple[str, ...], value: str, place: tuple[int, int] | None, file: TextFile) -> None:
    fact = setting_fact(path, value)
    if fact is None or place is None:
        return
    key = next(one for one in reversed(path) if one != "#")
    file.report(
        RENAMED if fact.new else CUDA_ONLY,
        place,
        phrase(
            "{key}: {value}: {message}{new}",
            key=key,
            value=value,
            message=fact.message,
            new=phrase("; here it is {new}", new=fact.new) if fact.new else "",
        ),
        edits=[(*place, _written(fact.new, place[0], file))] if fact.new else (),
        safety=fact.safety,
        severity=fact.severity,
        evidence=fact.evidence,
        source=fact.source,
        subject=key,
        advice=fact.advice,
    )


_BOOLEAN = re.compile(r"(?i)yes|no|on|off")


def _written(new: str, start: int, file: TextFile) -> str:
    """A value as the file has to write it: YAML takes a bare NO for false."""
    is_bare = file.kind == "yaml" and file.data[start - 1 : start] not in (b'"', b"'")
    return f"'{new}'" if is_bare and _BOOLEAN.fullmatch(new) else new


def _judge_variables(document: Document, file: TextFile) -> None:
    """Variables of the environment that a file sets: as keys, as members of lists, as pairs of a name and a value."""
    settings: list[Setting] = []
    mentions: list[Mention] = []
    tables: dict[int, list[Value]] = {}
    for value in document.values:
        tables.setdefault(value.table, []).append(value)
        if value.key_end and _VARIABLE.fullmatch(value.key):
            settings.append(_setting(value.key, value.key_start, value.key_end, value, file))
        elif value.path[-1:] == ("#",) and value.key.lower().replace("-", "_") in _FOR_VARIABLES:
            match = _ASSIGNED.fullmatch(value.text)
            if match is not None and value.text.isascii():
                end = value.start + len(match.group(1))
                text = match.group(2)
                write = (end + 1, value.end) if text else None
                settings.append(
                    Setting(match.group(1), value.start, end, _literal(text), write, table=_table(value, file))
                )
    for key in document.keys:
        if key.path and _VARIABLE.fullmatch(key.path[-1]):
            mentions.append(Mention(key.path[-1], key.start, key.end))
    for values in tables.values():
        named = next((one for one in values if one.key == "name" and _VARIABLE.fullmatch(one.text)), None)
        given = next((one for one in values if one.key == "value"), None)
        if named is not None and given is not None and values[0].path[:-1] == given.path[:-1]:
            settings.append(_setting(named.text, named.start, named.end, given, file))
    for found in _INTERPOLATED.finditer(file.data):
        mentions.append(Mention(found.group(1).decode(), *found.span(1)))
    judge_variables(settings, mentions, file)


def _setting(name: str, start: int, end: int, value: Value, file: TextFile) -> Setting:
    quote = '"' if not value.quote else ""
    return Setting(name, start, end, _literal(value.text), (value.start, value.end), quote, table=_table(value, file))


def _table(value: Value, file: TextFile) -> str:
    # A table of TOML may be written in several places.
    return ".".join(value.path[:-1]) or "." if file.kind in ("toml", "ini") else str(value.table)


def _literal(text: str | None) -> str | None:
    return None if text is None or "$" in text or "{{" in text else text
