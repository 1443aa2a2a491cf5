"""Shows notebooks to the rules. What does the work is read only where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.source.text import UnreadableText

if TYPE_CHECKING:
    from npuify.rules.job import Job
    from npuify.rules.run import Result
    from npuify.source.text import Text

_WORDS = (b"torch", b"cuda", b"nccl", b"triton", b"pip install", b"nvidia", b"apex", b"writefile")


class _Notebooks:
    """The analyser of notebooks."""

    kinds = ("notebook",)

    def takes(self, relative: str, kind: str) -> bool:
        return kind == "notebook"

    def may_concern(self, lower: bytes) -> bool:
        return any(word in lower for word in _WORDS)

    def findings(self, relative: str, kind: str, text: Text, job: Job) -> Result:
        from npuify.engine.notebooks.findings import notebook_findings

        return notebook_findings(relative, text, job)

    def is_valid(self, relative: str, kind: str, data: bytes) -> bool:
        from npuify.source.notebook.cells import read_notebook

        try:
            read_notebook(data)
        except UnreadableText:
            return False
        return True


ANALYSER = _Notebooks()
