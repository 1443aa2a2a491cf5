"""What ``torch.accelerator`` of a torch release has."""

from __future__ import annotations


def accelerator_names(torch: str) -> frozenset[str]:
    """The names of ``torch.accelerator`` in a torch version, read from the packages; none before torch 2.6.

    Args:
        torch: a version such as ``2.6`` or ``2.6.0``. For one without a table, that of the next older one counts; none
            where it is older than all, or no version.
    """
    from packaging.version import InvalidVersion, Version

    from npuify.knowledge.release.table import load
    from npuify.knowledge.release.versions import releases

    try:
        wanted = Version(torch).release[:2]
    except InvalidVersion:
        return frozenset()
    for info in releases():  # newest first
        if info.has_table and Version(info.torch).release[:2] <= wanted:
            return frozenset(load(info.torch_npu).content.cuda.get("torch.accelerator", {}))
    return frozenset()
