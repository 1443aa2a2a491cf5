"""Make ``data/error_codes.json``: the numbers of ACL, of the graph engine and of HCCL, from the headers in a wheel.

    python -m npuify.knowledge.generate.error_codes torch_npu-2.14.0-….whl > src/npuify/knowledge/data/error_codes.json

Only names and numbers are taken, and the words of a one-line comment that stands beside them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from .wheel import Wheel

_INCLUDE: Final = "torch_npu/include/third_party"
HEADERS: Final = {
    "acl": (
        f"{_INCLUDE}/acl/inc/acl/error_codes/rt_error_codes.h",
        f"{_INCLUDE}/acl/inc/acl/error_codes/ge_error_codes.h",
        f"{_INCLUDE}/acl/inc/acl/acl_base.h",
        f"{_INCLUDE}/acl/inc/acl/acl_base_rt.h",
    ),
    "hccl": (f"{_INCLUDE}/hccl/inc/hccl/hccl_types.h",),
}
"""The runtime's own numbers come first: where two headers use one, the first tells."""

_NUMBER: Final = re.compile(
    r"\b(?P<name>(?:ACL|HCCL)_E(?:RROR)?_\w+)\s*=?\s+=?\s*(?P<value>\d+)U?\s*[;,]?"
    r"\s*(?://\s*(?P<line>[^\n]*)|/\*+<?\s*(?P<block>[^*\n]*)\*/)?"
)


def build(npu: Wheel) -> bytes:
    """The content of the file: JSON, sorted, one line a code.

    Raises:
        NpuifyError: the wheel has none of the headers.
    """
    tables: dict[str, dict[str, list[str]]] = {}
    for kind, names in HEADERS.items():
        codes: dict[int, list[str]] = {}
        for name in names:
            for found in _NUMBER.finditer(npu.text(name) or ""):
                value = int(found["value"])
                words = (found["line"] or found["block"] or "").strip()
                if value and "RESERVED" not in found["name"]:
                    codes.setdefault(value, [found["name"], words or _spoken(found["name"])])
        if not codes:
            raise NpuifyError(phrase("the wheel has no header with codes of {kind}", kind=kind), file=str(npu.path))
        tables[kind] = {str(value): codes[value] for value in sorted(codes)}
    lines = [
        "{",
        f' "torch_npu": {json.dumps(npu.version)},',
        f' "wheel": {json.dumps(npu.path.name)},',
        f' "sha256": {json.dumps(npu.sha256())},',
    ]
    for kind in sorted(tables):
        rows = ",\n".join(f"  {json.dumps(code)}: {json.dumps(row)}" for code, row in tables[kind].items())
        lines.append(f' "{kind}": {{\n{rows}\n }}' + ("," if kind != max(tables) else ""))
    return ("\n".join(lines) + "\n}\n").encode("utf-8")


def _spoken(name: str) -> str:
    """What a name without a comment says: ``ACL_ERROR_OP_NOT_FOUND`` is "op not found"."""
    return re.sub(r"^(?:ACL_ERROR|HCCL_E)_", "", name).replace("_", " ").lower()


def main() -> None:
    """Write the table of the wheel named on the command line to the standard output."""
    from .wheel import Wheel

    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    wheel = Wheel(Path(sys.argv[1]))
    try:
        sys.stdout.buffer.write(build(wheel))
    finally:
        wheel.close()


if __name__ == "__main__":
    main()
