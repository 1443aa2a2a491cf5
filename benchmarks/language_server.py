"""What the language server does for each change: CPU time to look at a file as it is typed, and after a save.

    python benchmarks/language_server.py PROJECT [FILE]

FILE defaults to the file of PROJECT with findings whose length is nearest to 1,000 lines. Goal: 100 ms for such a file.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from lsprotocol import types

import npuify
from npuify.editor.fixes import fix_all, fixes
from npuify.editor.hints import lens
from npuify.editor.session import Session, options_for
from npuify.lsp import convert
from npuify.lsp.document import Document, Part

TIMES = 15


def typical(root: Path) -> Path:
    """The file with findings that is nearest to 1,000 lines."""
    names = {one.file for one in npuify.scan([root], options_for(root, jobs=0)).findings if one.file.endswith(".py")}
    return min((root / name for name in names), key=lambda path: abs(len(path.read_text().splitlines()) - 1000))


def measured(function: object, times: int = TIMES) -> list[float]:
    """Milliseconds of CPU of each call."""
    taken = []
    for _ in range(times):
        begun = time.process_time()
        function()  # type: ignore[operator]
        taken.append((time.process_time() - begun) * 1000)
    return taken


def main() -> None:
    """Measure, and print."""
    root = Path(sys.argv[1]).resolve()
    path = root / sys.argv[2] if len(sys.argv) > 2 else typical(root)
    text = path.read_text(encoding="utf-8")
    session = Session(root)
    begun = time.process_time()
    session.look(path, text)
    print(f"{path.relative_to(root)}: {len(text.splitlines())} lines")
    print(f"first look, with the project: {(time.process_time() - begun) * 1000:.0f} ms")
    typed = iter(range(10_000))

    def change() -> Document:
        content = text + f"\ntyped_{next(typed)} = 1\n"
        seen = session.look(path, content)
        lines = convert.Lines(content)
        found = Document(path.as_uri(), 1, session, seen, lines, [Part(path.as_uri(), 1, lines)])
        found.diagnostics()
        lens(seen.findings)
        return found

    taken = measured(change)
    found = change()
    print(
        f"a change: median {statistics.median(taken):.0f} ms, worst {max(taken):.0f} ms "
        f"({len(found.seen.findings)} findings)"
    )
    if found.seen.findings:
        place = found.span(found.seen.findings[0])[1]
        here = found.at(found.uri, types.Range(place.start, place.start))
        taken = measured(lambda: list(fixes(session, found.seen, here)), 5)
        print(f"quick fixes at a place: median {statistics.median(taken):.0f} ms")
        print(f"fix all: median {statistics.median(measured(lambda: fix_all(session, found.seen), 5)):.0f} ms")

    def save() -> None:
        session.changed_on_disk()
        session.look(path, text)

    print(f"a look after a save: median {statistics.median(measured(save, 3)):.0f} ms")


if __name__ == "__main__":
    main()
