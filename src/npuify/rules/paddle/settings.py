"""Settings of programs on PaddlePaddle: the device of PaddleX, PaddleOCR, PaddleDetection and their relatives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.paddle import lies_with_paddle
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from npuify.analysis.project import ProjectIndex
    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.settings import Document, Value

GPU = re.compile(r"(?P<word>gpu|cuda)(?::\d+(?:,\s*\d+)*)?")
OFF = {"True": "False", "true": "false", "TRUE": "FALSE", "1": "0", "yes": "no"}
"""Words that switch something on, with those that switch it off."""
_DEVICE = frozenset(("device", "place", "devices"))
_SWITCHES = frozenset(("use_gpu", "use_cuda"))
_OF_TENSORRT = re.compile(r"use_(?:tensorrt|trt)|(?:enable|with)_trt")
_HEADS = frozenset(
    (
        *(
            "Arch",
            "Architecture",
            "Optimizer",
            "PostProcess",
            "Train",
            "Eval",
            "Infer",
            "Predict",
            "Loss",
            "DataLoader",
        ),
        *("Evaluate", "Export", "IndexProcess", "Metric"),
    )
)
"""Tables that stand beside ``Global`` in files of PaddleClas, PaddleOCR and PaddleX."""
_BESIDE = frozenset(("use_xpu", "use_mlu", "use_npu", "use_gcu", "use_hpu", "log_iter", "snapshot_epoch"))
"""Settings that stand beside ``use_gpu`` in files of PaddleDetection and PaddleOCR."""
_BLANKS = re.compile(rb"[ \t]*\Z")


@listed(
    "NPU952",
    "paddle-gpu-setting",
    Safety.REVIEW,
    example_file="config.yml",
    evidence=Evidence.DOCUMENTED,
    source="PaddlePaddle/PaddleX: docs/other_devices_support/; PaddleOCR: tools/program.py",
)
def SETTING(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A setting gives a program on PaddlePaddle a GPU; an NPU is the device ``npu``.

    Programs that have ``use_gpu`` and ``use_npu`` need both: ``use_gpu`` has to be false, since it is asked first.
    Where the project's own programs have no ``use_npu``, ``use_gpu`` stays, and what they do with it is edited there.

    Before::

        Global:
          use_gpu: true
          device: gpu:0,1
        Architecture:
          model_type: det

    After::

        Global:
          use_gpu: false
          use_npu: true
          device: npu:0,1
        Architecture:
          model_type: det
    """
    raise NotImplementedError


def judge_paddle_settings(document: Document, file: TextFile) -> Document:
    """Report the settings of a program on PaddlePaddle that name a GPU.

    Returns:
        The document without them: what other rules make of them does not hold.
    """
    wanted = [value for value in document.values if _concerns(value)]
    if not wanted or not (_by_shape(document) or lies_with_paddle(file.relative, file.run.project)):
        return document
    judged: set[int] = set()
    for value in wanted:
        if value.key in _SWITCHES:
            known = npu_switch(file.relative, file.run.project) if value.key == "use_gpu" else False
            if known is not False:
                _switch(value, document, file, is_sure=known is True)
                judged.add(value.start)
        elif _OF_TENSORRT.fullmatch(value.key):
            file.report(
                SETTING,
                (value.start, value.end),
                phrase("{key}: TensorRT has no build for Ascend", key=value.key),
                severity=Severity.WARNING,
                subject="paddle: TensorRT",
                advice=phrase("write {value}", value=OFF[value.text]),
            )
        else:
            match = GPU.fullmatch(value.text)
            assert match is not None
            judged.add(value.start)
            file.report(
                SETTING,
                (value.start, value.end),
                phrase("{key} is CUDA's device of PaddlePaddle; that of an NPU is npu", key=value.key),
                edits=[(value.start, value.start + len(match["word"]), "npu")],
                subject="paddle: gpu",
            )
    return document._replace(values=[one for one in document.values if one.start not in judged])


def _concerns(value: Value) -> bool:
    if value.key in _DEVICE:
        return GPU.fullmatch(value.text) is not None
    return value.text in OFF and (value.key in _SWITCHES or _OF_TENSORRT.fullmatch(value.key) is not None)


def _by_shape(document: Document) -> bool:
    """Whether a file's tables and keys are those of Paddle's own suites."""
    heads = {path[0] for path in [*(key.path for key in document.keys), *(one.path for one in document.values)] if path}
    if "Global" in heads and not heads.isdisjoint(_HEADS):
        return True
    if {"pipeline_name", "SubModules"} <= heads or {"pipeline_name", "SubPipelines"} <= heads:
        return True
    keys = {value.key for value in document.values}
    return "use_gpu" in keys and not keys.isdisjoint(_BESIDE)


_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|test_tipc|fastdeploy|hubserving|serving|third_party|benchmark)(?:/|$)|(?:^|/)test_"
)
"""Where programs with options of their own lie, which no settings reach."""


def npu_switch(relative: str, project: ProjectIndex) -> bool | None:
    """Whether the programs that read ``use_gpu`` have ``use_npu`` beside it; None: some have.

    The nearest folder with such programs is asked. Those of Paddle's suites have it; a project whose programs never
    name it has a switch of its own.

    Args:
        relative: a file of settings, or a program.
        project: the project.
    """
    switched = [one for one in project.files_with(b"use_gpu") if not _ASIDE.search(one)]
    with_npu = set(project.files_with(b"use_npu"))
    folder = relative.rpartition("/")[0]
    while True:
        inside = f"{folder}/" if folder else ""
        readers = [
            one
            for one in switched
            if one.startswith(inside) and not _has_own_settings(one, relative, project) and _reads(one, project)
        ]
        if readers or not folder:
            break
        folder = folder.rpartition("/")[0]
    if not readers:
        return not switched or None
    known = with_npu.intersection(readers)
    return False if not known else True if len(known) == len(readers) else None


def _has_own_settings(program: str, relative: str, project: ProjectIndex) -> bool:
    """Whether a program lies with settings of its own, and others are asked about: those are not what it reads."""
    folder = program.rpartition("/")[0]
    while folder and not relative.startswith(f"{folder}/"):
        if _holds_settings(folder, project):
            return True
        folder = folder.rpartition("/")[0]
    return False


def _holds_settings(folder: str, project: ProjectIndex) -> bool:
    """Whether a file with ``use_gpu`` lies in a folder, or right below it."""
    key = ("settings in", folder)
    known = project.remembered.get(key)
    if known is None:
        root = project.root / folder
        found = sorted(one for pattern in ("*.y*ml", "*/*.y*ml") for one in root.glob(pattern))
        holding = next((one for one in found if _names_switch(one)), None)
        seen = [holding] if holding is not None else found
        known = holding is not None, {one.relative_to(project.root).as_posix() for one in seen}
        project.remembered[key] = known
    holds, seen_files = known
    project.dependencies |= seen_files
    return bool(holds)


def _names_switch(path: Path) -> bool:
    try:
        return b"use_gpu" in path.read_bytes()
    except OSError:
        return False


_READ = re.compile(
    rb"(?:cfg|conf|config|Config|opts?|args|FLAGS|Global[\"']?\]?)\w*(?:\.|\[[\"'])use_gpu\b|[\"'](?:\w+\.)*use_gpu[\"']"
)


def _reads(relative: str, project: ProjectIndex) -> bool:
    """Whether a file takes ``use_gpu`` from settings or options."""
    try:
        return _READ.search(project.read(relative)) is not None
    except OSError:
        return False


def _switch(value: Value, document: Document, file: TextFile, *, is_sure: bool) -> None:
    beside = next(
        (one for one in document.values if one.key == "use_npu" and one.path[:-1] == value.path[:-1]),
        None,
    )
    edits: list[Replacement | None] = [(value.start, value.end, OFF[value.text])]
    if beside is None:
        edits.append(_line_behind(value, file))
    elif beside.text not in OFF:
        edits.append((beside.start, beside.end, value.text))
    file.report(
        SETTING,
        (value.start, value.end),
        "use_gpu needs a Paddle with CUDA, and is asked before use_npu",
        edits=edits if is_sure else (),
        severity=Severity.ERROR,
        subject="paddle: use_gpu",
        advice="set use_gpu to false and use_npu to true"
        + ("" if is_sure else ", where the program that reads this has use_npu: some here do not, and keep use_gpu"),
    )


def _line_behind(value: Value, file: TextFile) -> Replacement | None:
    """``use_npu`` on a line of its own behind that of ``use_gpu``; None where the line holds more."""
    data = file.data
    line = max(data.rfind(b"\n", 0, value.start), data.rfind(b"\r", 0, value.start)) + 1
    if file.kind != "yaml" or _BLANKS.match(data, line, value.key_start) is None:
        return None
    end = re.compile(rb"[\"']?[ \t]*(?:#[^\r\n]*)?(?=\r\n?|\n|\Z)").match(data, value.end)
    if end is None:
        return None
    newline = file.text.newline
    return (
        end.end(),
        end.end(),
        f"{newline}{data[line : value.key_start].decode()}use_npu: {value.text}",
    )
