"""What a live table changes in what was read from files. Plain mappings and the standard library only: the simulator
does the same inside a user's program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def corrections(read: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a release file that are other ones with the answers of the imported package.

    Where the live table lists a module, it decides which names that has; only members of classes and variables are kept
    from the files as well, since a live class does not show what its instances get.

    Args:
        read: the fields of :class:`npuify.knowledge.schema.ReleaseFile`.
        live: the fields of :class:`npuify.knowledge.release.imported.LiveFile`.
    """
    modules = sorted({*read["npu"], *live["names"]})
    not_listed = [m for m in read["not_imported"] if m not in live["names"]]
    return {
        "npu": {module: _names(read["npu"].get(module, {}), live["names"].get(module)) for module in modules},
        "not_imported": sorted({*live["not_imported"], *not_listed}),
        "patched": sorted({*read["patched"], *live["by_import"]}),
        "transfer_patches": sorted({*read["transfer_patches"], *live["by_transfer_to_npu"]}),
        "operators": live["operators"]["kernel"],
        "custom_operators": {
            name.removeprefix("npu::"): _with_lists(
                schemas, read["custom_operators"].get(name.removeprefix("npu::"), [])
            )
            for name, schemas in live["schemas"].items()
            if name.startswith("npu::")
        },
    }


def _with_lists(schemas: list[str], read: list[str]) -> list[str]:
    """Schemas whose lists have lists for defaults.

    PyTorch up to 2.6 prints ``int[] dilation=[1, 1, 1, 1]`` as ``int[] dilation=1``, which it does not read back; how
    many there are stands in the package's files.
    """

    def default(match: re.Match[str]) -> str:
        for schema in read:
            found = re.search(rf"\b{re.escape(match[2])}=(\[[^\]]*\])", schema)
            if found:
                return f"{match[1]} {match[2]}={found[1]}"
        return f"{match[1]} {match[2]}=[{match[3]}]"

    return [re.sub(r"(\w+\[\]\??) (\w+)=(-?[\d.]+|True|False)(?=[,)])", default, schema) for schema in schemas]


def _names(read: Mapping[str, str], live: Mapping[str, str] | None) -> dict[str, str]:
    if live is None:
        return dict(read)
    names = {name: spec for name, spec in live.items() if spec[0] not in "o!"}
    for name, spec in read.items():
        owner = name.partition(".")[0]
        if "." in name:
            if names.get(owner, "=")[0] in "cfv":  # a class, or an object with attributes of its own
                names.setdefault(name, spec)
        elif spec == "v":
            names.setdefault(name, spec)  # a variable; the live table has few of them, as most are no part of the face
        elif _says_less(names.get(name, "="), spec):
            names[name] = spec
    return names


def _says_less(live: str, read: str) -> bool:
    """Whether the object tells less of its parameters than its source: it is made in C++, or hides behind a wrapper."""
    return live[0] in "fcm" and (live[1:] in ("", "(*args,**kwargs)")) and read[0] in "fcm" and len(read) > 1
