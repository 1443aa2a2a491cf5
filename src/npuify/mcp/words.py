"""The arguments that several tools take, with what is said of them in their schemas."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from mcp_types import ToolAnnotations
from pydantic import Field

PAGE: Final = 50
"""Findings in an answer, where nothing else is asked for."""
LARGEST: Final = 500

Project = Annotated[str, Field(description="Folder or file, absolute or relative to the first root.")]
Style = Annotated[
    Literal["", "npu", "portable", "auto"],
    Field(
        description="npu: swap CUDA names for NPU names. portable: one code base for CUDA, NPU and CPU. auto: "
        "torch_npu's transfer_to_npu. Empty: as the project's settings say."
    ),
]
Release = Annotated[str, Field(description="torch_npu release aimed at, such as 2.7.1; empty: the one that fits best.")]
Code = Annotated[str, Field(description="Only codes that begin so: NPU3, NPU301.")]
Offset = Annotated[int, Field(ge=0, description="Where the page begins: next_offset of the page before.")]
Limit = Annotated[
    int,
    Field(
        ge=1, le=LARGEST, description="Findings, steps or rules on a page, at most: it ends sooner where they are long."
    ),
]
Destination = Annotated[str, Field(description="A new folder to write into; only with write.")]
Write = Annotated[bool, Field(description="Write it. Otherwise it is only shown.")]
Replace = Annotated[bool, Field(description="Replace what is in the destination.")]
Unsafe = Annotated[bool, Field(description="Also make edits that are right in the usual case only.")]
DiffOffset = Annotated[int, Field(ge=0, description="The next part of the patch: diff_next_offset.")]
Seconds = Annotated[float, Field(gt=0, le=86_400, description="Time limit in seconds.")]

READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
RUNS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)
"""It runs code of the project, which may do anything."""
