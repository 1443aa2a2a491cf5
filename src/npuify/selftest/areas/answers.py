"""What the imported package answered on stand-ins for the driver: a machine with an NPU must answer the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.release.imported import behaviour
from npuify.language import commas, phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check, Unchecked
from npuify.selftest.inside.questions.answers import codes_in, steady

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.imported import Answer
    from npuify.knowledge.release.table import ReleaseTable

_DEVICES = "NPUIFY_STAND_IN_DEVICES"
_NO_KERNEL = re.compile(r"Failed to find function|not in libopapi|Ipc|npu storage desc is unavailable|207000|libopapi")
_OF_THE_STAND_IN = re.compile(
    r"memory_stats|memory_summary|memory_snapshot|mem_get_info|memory_reserved|get_device_properties\(\S*\)$|"
    r"multi_processor_count|get_device_name|get_soc_version|uuid|total_memory|can_device_access_peer|utilization|"
    r"is_bf16_supported|get_amp_supported_dtype|version\.cann|shared_memory_per_block|npurt|preferred_linalg|"
    r"_stream == s\.stream_id|torch\.Stream\(device|elapsed_time\(g\) > |ai_core_metrics|is_initialized|"
    r"default_device_backend_map|ExternalEvent|dir\(torch\.npu\.get_dev|\.npu_event|p\.name|1 << 40|master_addr"
)
"""Statements whose answers belong to that machine, or to a runtime that is not one."""
_OF_A_BUILD = re.compile(
    r"torch_npu\.profiler\.(?:ProfilerActivity|schedule|tensorboard_trace|profile\(\))|fast_dtype$"
)


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each statement that an NPU must answer as the stand-ins had it answered."""
    if table.live is None:
        yield Unchecked("answers", table.torch_npu, phrase("the package of this release was never imported and asked"))
        return
    for scenario, asked in behaviour(table.live).items():
        count = int(asked.setting.get(_DEVICES, "1"))
        setting = {name: value for name, value in asked.setting.items() if not name.startswith("NPUIFY_")}
        if len(asked.setting) - len(setting) > 1 or count not in (1, 2):
            why = phrase("it is about a driver that fails, or about a machine that is made up")
            yield Unchecked("answers", scenario, why)
            continue
        environment = {**setting, "ASCEND_RT_VISIBLE_DEVICES": ",".join(map(str, range(count)))}
        for number, answer in enumerate(asked.answers):
            claimed = claim_of(answer)
            belongs = _NO_KERNEL.search(answer.message) or _OF_THE_STAND_IN.search(answer.ask)
            if claimed is None or belongs or _OF_A_BUILD.search(answer.ask):
                claimed = None
            yield Check(
                id=f"answers/{scenario} {number}",
                claim=phrase("{statement} answers: {value}", statement=answer.ask, value=claimed or phrase("nothing")),
                subject="",
                evidence=Evidence.LIVE,
                source=f"torch-npu {table.torch_npu}",
                function="answers:answer",
                arguments={"scenario": scenario, "number": number, "statement": answer.ask},
                expected=claimed,
                counts=claimed is not None,
                cards=count,
                group=f"answers {scenario}",
                environment=environment,
                quick=scenario in ("one device", "streams and events"),
            )
            codes = codes_in(answer.message) if claimed is not None else []
            if codes:
                yield Check(
                    id=f"answers/{scenario} {number} {codes[-1]}",
                    claim=phrase(
                        "{statement} is refused with the codes {codes}", statement=answer.ask, codes=commas(codes)
                    ),
                    subject=codes[-1],
                    evidence=Evidence.LIVE,
                    source=f"torch-npu {table.torch_npu}",
                    function="answers:codes",
                    arguments={"scenario": scenario, "number": number},
                    expected=codes,
                    cards=count,
                    group=f"answers {scenario}",
                    environment=environment,
                )


def claim_of(answer: Answer) -> str | None:
    """What :func:`npuify.selftest.inside.questions.answers.answer` must give; None: the process ended."""
    if answer.crash is not None:
        return None
    if answer.error is not None:
        return f"raises {answer.error}"
    return steady(answer.value or "")
