"""What ``transfer_to_npu`` changes, which the style auto relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable

_VALUES = ("torch.cuda.default_generators",)
"""Empty before the device is used, on either side, so that no change is seen."""


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each name that it was seen to change, or that its files name."""
    names = sorted(table.live.by_transfer_to_npu if table.live is not None else table.transfer_patches)
    for name in names:
        if name in _VALUES:
            yield Unchecked("patches", name, phrase("it has no value before the device is used"))
    names = [name for name in names if name not in _VALUES]
    evidence = Evidence.LIVE if table.live is not None else Evidence.PACKAGE
    source = f"torch-npu {table.torch_npu}"
    yield Check(
        id="patches/torch_npu.contrib.transfer_to_npu",
        claim=phrase("torch_npu.contrib.transfer_to_npu can be imported"),
        subject="torch_npu.contrib.transfer_to_npu",
        evidence=evidence,
        source=source,
        function="patches:transfer",
        arguments={"names": names},
        expected=True,
        group="patches",
        cards=0,
        seconds=180,
        quick=True,
    )
    for name in names:
        yield Check(
            id=f"patches/{name}",
            claim=phrase("torch_npu.contrib.transfer_to_npu changes {name}", name=name),
            subject=name,
            evidence=evidence,
            source=source,
            function="patches:is_changed",
            arguments={"name": name},
            expected=True,
            quick=True,
            group="patches",
            cards=0,
        )
