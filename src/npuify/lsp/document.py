"""One version of an open document, or of a notebook with its cells, and what is found in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types

from npuify.lsp import convert

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from npuify.editor.cells import NotebookText
    from npuify.editor.fixes import Fix
    from npuify.editor.lines import Replacement
    from npuify.editor.session import Seen, Session
    from npuify.lsp.convert import Lines
    from npuify.model import Finding


class Part(NamedTuple):
    """A document that the client has open: a file, or a cell of a notebook."""

    uri: str
    version: int | None
    lines: Lines


class Document(NamedTuple):
    """What is found in a file or a notebook.

    Attributes:
        uri: its address.
        version: of it.
        session: its project.
        seen: what is found.
        lines: of the file that was looked at.
        parts: what the client has open of it: the document itself, or the notebook's cells in order.
        notebook: the cells' places in the file; None for other files.
    """

    uri: str
    version: int | None
    session: Session
    seen: Seen
    lines: Lines
    parts: Sequence[Part]
    notebook: NotebookText | None = None

    def part(self, uri: str) -> Part | None:
        """The part at this address."""
        return next((one for one in self.parts if one.uri == uri), None)

    def span(self, finding: Finding) -> tuple[str, types.Range]:
        """Where a finding stands, by the part that it is in; a finding that is in no cell stands at the first one."""
        if self.notebook is None:
            return self.uri, convert.span(finding, self.lines)
        start = self.notebook.place(finding.start.line, finding.start.column)
        if start is None:
            return self.parts[0].uri, types.Range(types.Position(0, 0), types.Position(0, 0))
        part = self.parts[start[0]]
        first = part.lines.position(*start[1:])
        end = self.notebook.place(finding.end.line, finding.end.column)
        last = part.lines.position(*end[1:]) if end is not None and end[0] == start[0] else first
        return part.uri, types.Range(first, last)

    def diagnostic(self, finding: Finding) -> tuple[str, types.Diagnostic]:
        """A finding, by its part."""
        uri, place = self.span(finding)
        return uri, convert.diagnostic(finding, place)

    def diagnostics(self) -> Mapping[str, list[types.Diagnostic]]:
        """All that is to be shown, by part."""
        shown: dict[str, list[types.Diagnostic]] = {part.uri: [] for part in self.parts}
        for finding in self.seen.findings:
            uri, one = self.diagnostic(finding)
            shown[uri].append(one)
        for error in self.seen.errors:
            line = max(error.line, 1)
            if self.notebook is None:
                shown[self.uri].append(convert.failure(error, self.lines.position(line, 1)))
                continue
            place = self.notebook.place(line, 2) or (0, 1, 1)
            part = self.parts[place[0]]
            shown[part.uri].append(convert.failure(error, part.lines.position(*place[1:])))
        return shown

    def at(self, uri: str, place: types.Range) -> list[Finding]:
        """The findings that touch a range of a part."""
        placed = ((one, *self.span(one)) for one in self.seen.findings)
        return [one for one, where, span in placed if where == uri and convert.touches(span, place)]

    def of_part(self, uri: str) -> list[Finding]:
        """The findings of a part."""
        return [one for one in self.seen.findings if self.span(one)[0] == uri]

    def edit(self, fix: Fix, *, versioned: bool) -> types.WorkspaceEdit:
        """A fix, for these versions and no others, where the client can tell.

        Args:
            fix: of this document.
            versioned: whether the client takes edits for one version of a document.
        """
        changed: list[tuple[Part, Sequence[Replacement]]]
        if self.notebook is None:
            changed = [(self.parts[0], fix.replacements)]
        else:
            changed = [(self.parts[cell], made) for cell, made in self.notebook.replacements(fix.replacements).items()]
        edits = {part: [convert.text_edit(one, part.lines) for one in made] for part, made in changed}
        if not versioned:
            return types.WorkspaceEdit(changes={part.uri: made for part, made in edits.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(part.uri, part.version), list(made)
                )
                for part, made in edits.items()
            ]
        )
