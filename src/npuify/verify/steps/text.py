"""A report on an acceptance as text, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.language import commas, mark, padded, phrase, plural, told
from npuify.report import printable
from npuify.report.in_language import as_json
from npuify.report.schemas import schema_of

from .model import Status, Where

if TYPE_CHECKING:
    from .model import AcceptanceReport, Devices, StepResult

_MARKS: Final = {Status.PASSED: mark("passed"), Status.FAILED: mark("FAILED"), Status.NOT_RUN: mark("not run")}


def render_text(report: AcceptanceReport) -> str:
    """The report for a person: the verdict, then each step with what was seen."""
    lines = [
        told(report.verdict),
        "",
        f"{padded(phrase('project'), 11)}{report.project}, {report.entry}",
        f"{padded(phrase('reference'), 11)}{told(report.reference)}",
        f"{padded(phrase('target'), 11)}{told(report.target)}",
        f"{padded(phrase('machine'), 11)}{devices_in_words(report.devices)}",
        *(f"{padded(phrase('prepared'), 11)}{told(one)}" for one in report.prepared),
    ]
    for number, step in enumerate(report.steps, 1):
        lines += [
            "",
            f"{number}. {padded(phrase(_MARKS[step.status]), 7)}  {told(step.title)}{in_brackets(ran_on(step))}",
        ]
        lines.append(f"            {told(step.message)}")
        lines += ["            " + phrase("seen: {what}", what=one) for one in step.evidence]
        if step.advice:
            lines.append(f"            -> {told(step.advice)}")
        lines += [f"            $ {one}" for one in step.commands]
    if report.folder:
        lines += ["", phrase("Captures and logs are in {folder}", folder=report.folder)]
    return printable("\n".join(lines) + "\n")


def in_brackets(text: str) -> str:
    return phrase(" ({text})", text=text)


def ran_on(step: StepResult) -> str:
    """``in simulation``, ``on hardware``, ``not run``: never more than happened."""
    if step.status is Status.NOT_RUN and step.where is Where.NOWHERE:
        return phrase("did not run at all")
    return {
        Where.HARDWARE: phrase("ran on hardware"),
        Where.SIMULATION: phrase("ran in simulation"),
        Where.CPU: phrase("ran on the host's CPU"),
        Where.NOWHERE: phrase("did not run at all"),
    }[step.where]


def devices_in_words(devices: Devices) -> str:
    """``torch 2.13.0, no GPU, no NPU``."""
    if devices.tensorflow:
        adapter = devices.adapter or phrase("no adapter for NPUs")
        return f"TensorFlow {devices.tensorflow}, {adapter}"
    return commas(
        (
            f"torch {devices.torch}",
            *((phrase("torch_npu {torch_npu}", torch_npu=devices.torch_npu),) if devices.torch_npu else ()),
            plural("{count} GPU", "{count} GPUs", devices.cuda) if devices.cuda else phrase("no GPU"),
            plural("{count} NPU", "{count} NPUs", devices.npu) if devices.npu else phrase("no NPU"),
        )
    )


def schema() -> str:
    """The JSON Schema of ``npuify verify steps --format json``."""
    from .model import VERSION, AcceptanceReport

    return schema_of(AcceptanceReport, "verify-steps", VERSION, "What npuify verify steps found in an acceptance test")


def render_json(report: AcceptanceReport) -> str:
    """The report as JSON; ``version`` says which form."""
    return printable(as_json(report))
