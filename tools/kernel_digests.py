"""Print the digest of each operator that projects bind to Python, as the tables of replacements list them.

    python -m tools.kernel_digests PROJECT... [--only NAME] [--open] [--launches]

With --launches it is recorded, too, how wide known copies launch their kernels. Nothing of a project is compiled or
imported. A digest goes into ``knowledge/data/replacements`` only after somebody has read the code behind it, and has
seen that the replacement computes the same.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.knowledge.third_party.replacements import LAUNCHES, families, replacement_of
from npuify.project.files import find_files
from npuify.project.survey import KINDS
from npuify.rules.packages.extensions.builds import builds_in
from npuify.rules.packages.extensions.launches import Launches
from npuify.rules.packages.extensions.operators import Operators
from npuify.source.native.reader import read_native

if TYPE_CHECKING:
    from collections.abc import Mapping


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--open", action="store_true", help="only operators without a replacement")
    parser.add_argument("--launches", action="store_true", help="record how wide known copies launch their kernels")
    given = parser.parse_args()
    found: dict[str, set[str]] = {}
    for project in given.projects:
        operators = _operators(project)
        prints = operators.fingerprints()
        for relative, file in sorted(operators.files.items()):
            for binding in file.bindings:
                digest = prints.of(relative, binding)
                row = replacement_of(binding.name, digest)
                if row and given.launches:
                    found.setdefault(digest, set()).add(Launches(prints).of(relative, binding))
                if given.only in binding.name and not (given.open and row):
                    what = f"{row.family}.{row.function}" if row else ""
                    print(project.name, operators.module(relative, binding), binding.name, digest or "-", what)
    if given.launches:
        _record(found)


def _record(found: Mapping[str, set[str]]) -> None:
    known = json.loads(LAUNCHES.read_text("utf-8")) if LAUNCHES.exists() else {}
    there = {digest for family in families().values() for row in family.operators for digest in row.copies}
    made = {one: sorted({*known.get(one, ()), *found.get(one, ())}) for one in {*known, *found} & there}
    lines = ",\n".join(f' "{digest}": {json.dumps(made[digest])}' for digest in sorted(made))
    LAUNCHES.write_text(f"{{\n{lines}\n}}\n", "utf-8")


def _operators(project: Path) -> Operators:
    read = {
        file.relative: file.path.read_bytes()
        for file in find_files([project], kinds=set(KINDS), errors=[])
        if file.kind in ("python", "cuda", "native")
    }
    builds = [build for name, data in read.items() if name.endswith(".py") for build in builds_in(name, data)]
    native = {name: read_native(data) for name, data in read.items() if not name.endswith(".py")}
    return Operators(native, builds, read.__getitem__)


if __name__ == "__main__":
    main()
