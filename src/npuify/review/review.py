"""One review of one project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from npuify.engine.alone import ENGINE
from npuify.engine.catalog import all_rules
from npuify.language import commas, phrase
from npuify.migration import MODES, written
from npuify.model import NpuifyError
from npuify.report.formats.vendor import write_vendor_files
from npuify.review.decisions import Decisions, Key
from npuify.review.items import Item, items_of
from npuify.review.sides import as_saved, rows
from npuify.rewrite.plan import Draft
from npuify.rewrite.tree import check_destination, replace_files
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from npuify.model import MigrationResult
    from npuify.options import Options
    from npuify.review.sides import Row
    from npuify.rewrite.fixpoint import MigratedFile

    Progress = Callable[[int, int], None]

T = TypeVar("T")
_NO_FILE: Final = "is no file that this scan looked at"


class FileView(msgspec.Struct, frozen=True):
    """A file before and after, with what there is to decide in it."""

    file: str
    rows: list[Row]
    why_not: str
    """Why there are no rows; empty where there are."""
    items: list[Item]
    text: str
    """What it becomes, to be written on by hand; empty where it cannot be."""
    by_hand: bool
    errors: list[str]


class Review:
    """A migration under review. It holds all that is decided; nothing is written before :meth:`write`.

    Args:
        source: the project.
        options: see :class:`npuify.options.Options`.
        progress: called with the number of files done and of files to do; what it raises ends the work.
        preparing: the same while files are read, before any is migrated; 0 of 0 while they are sought.

    Raises:
        NpuifyError: wrong use.
    """

    def __init__(
        self, source: Path, options: Options, progress: Progress | None = None, preparing: Progress | None = None
    ) -> None:
        self.source = source
        self.options = options
        with ENGINE:
            self._draft = Draft(source, options, progress, preparing)
            names = self._draft.with_findings()
            self._usual = {name: file for name in names if (file := self._draft.file(name)) is not None}
            self._rules = {code: rule.info for code, rule in all_rules().items()}
        self._states = [Decisions()]
        self._at = 0
        self._items: dict[str, list[Item]] = {}
        self._result: tuple[MigrationResult, dict[str, bytes]] | None = None
        self._new: dict[str, bytes] | None = None
        self._made: dict[tuple[str, Hashable], MigratedFile] = {}

    # --- what there is ---

    @property
    def decisions(self) -> Decisions:
        """Those that hold now."""
        return self._states[self._at]

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to take back."""
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        """Whether a decision was taken back."""
        return self._at + 1 < len(self._states)

    def result(self) -> MigrationResult:
        """What the migration does now, with nothing written."""
        return self._now()[0]

    def items(self, file: str | None = None) -> list[Item]:
        """What was found, and what becomes of it: in one file, or in all of them by file and place."""
        with ENGINE:
            if file is not None:
                return self._items_of(file)
            names = sorted({*self._usual, *(one.file for one in self._draft.about_project)})
            return [item for name in names for item in self._items_of(name)]

    def tree(self) -> list[tuple[str, int, bool]]:
        """Each file that was looked at: how many items it has, and whether it changes."""
        with ENGINE:
            changed = self._contents()
            names = sorted({*self._draft.names(), *changed})
            return [(name, len(self._items_of(name)), name in changed) for name in names]

    def view(self, file: str) -> FileView:
        """A file before and after.

        Raises:
            NpuifyError: it is no file of the project.
        """
        with ENGINE:
            contents = self._contents()
            if file not in contents:
                self._known(file)
            before = self._original(file)
            after = contents.get(file, before)
            shown, why_not = rows(before, after)
            try:
                text = Text(after).string if not why_not else ""
            except UnreadableText:
                text = ""
            known = self._draft.file(file)
            errors = [f"{one.message}. {one.advice}".rstrip(". ") for one in known.errors] if known else []
            by_hand = file in self.decisions.by_hand
            return FileView(file, shown, why_not, self._items_of(file), text, by_hand, errors)

    # --- decisions ---

    def decide(self, keys: Iterable[Key], made: bool | None) -> None:
        """Have edits made or left out; None: as their rule or safety has it."""
        self._take(self.decisions.with_edits(dict.fromkeys(keys, made)))

    def decide_rule(self, code: str, made: bool | None) -> None:
        """Have all edits of a rule made or left out.

        Raises:
            NpuifyError: the project has no edit of that code.
        """
        if not any(item.code == code and item.state != "none" for item in self.items()):
            raise NpuifyError(phrase("no edit of {code} is in this project", code=code))
        self._take(self.decisions.with_rule(code, made))

    def write_by_hand(self, file: str, text: str | None) -> None:
        """Take a text for a file, as a person typed it; None: what the edits make of it.

        Raises:
            NpuifyError: it is no file of the project, or the text does not parse.
        """
        self._known(file)
        self._take(self.decisions.with_text(file, text))

    def undo(self) -> None:
        """Take the last decision back; nothing happens where there is none."""
        if self.can_undo:
            self._apply(self._states[self._at - 1])
            self._at -= 1

    def redo(self) -> None:
        """Decide again what was taken back last."""
        if self.can_redo:
            self._apply(self._states[self._at + 1])
            self._at += 1

    # --- the end ---

    def write(self, mode: str, destination: Path | None = None, *, force: bool = False) -> MigrationResult:
        """Write what was decided.

        Args:
            mode: ``copy``, ``in-place``, or ``diff`` (to the file ``destination``; None: it is only returned).
            destination: where to; see :func:`npuify.migration.migrate`.
            force: replace what is there.

        Raises:
            NpuifyError: files have changed since they were read, or the output cannot be written. Nothing is left
                half-written.
        """
        if mode not in MODES:
            raise NpuifyError(
                phrase("the mode {mode!r} does not exist", mode=mode),
                advice=phrase("one of {MODES}", MODES=commas(MODES)),
            )
        with ENGINE:
            result, contents = self._now()
            self.check_unchanged()
            if mode == "copy":
                if destination is None:
                    raise NpuifyError("no destination is given", advice="name a new folder")
                check_destination(self.source, destination, force=force)
            if mode == "diff" and destination is not None:
                _write_patch(destination, result.diff, force=force)
            done = written(self.source, destination, result, contents, mode=mode, force=force)
            if mode in ("copy", "in-place") and self.options.vendor_reports is not None:
                write_vendor_files(done, Path(self.options.vendor_reports))
            return done

    def again(self, language: str, progress: Progress | None = None, preparing: Progress | None = None) -> Review:
        """The same review in another language: what was found is found anew, and all decisions hold.

        Args:
            language: see :mod:`npuify.language`.
            progress, preparing: as for a new one.

        Raises:
            NpuifyError: files have changed since they were read, so that decisions might meet other code.
        """
        self.check_unchanged()
        options = msgspec.structs.replace(self.options, language=language)
        made = Review(self.source, options, progress, preparing)
        made._apply(self.decisions)
        made._states, made._at = list(self._states), self._at
        return made

    def check_unchanged(self) -> None:
        """Nothing that was read has changed since.

        Raises:
            NpuifyError: something has.
        """
        with ENGINE:
            changed = self._draft.changed_since()
        if changed:
            more = phrase(" and {value} more", value=len(changed) - 1) if len(changed) > 1 else ""
            raise NpuifyError(
                phrase("has changed{more} since it was read; nothing was written", more=more),
                advice="scan again, so that nobody's work is lost",
                file=changed[0],
            )

    # --- inside ---

    def _now(self) -> tuple[MigrationResult, dict[str, bytes]]:
        with ENGINE:
            if self._result is None:
                self._result = self._draft.result()
            return self._result

    def _contents(self) -> dict[str, bytes]:
        """The new content of each file that changes."""
        if self._new is None:
            self._new = self._draft.contents()
        return self._new

    def _known(self, file: str) -> None:
        if file not in self._usual and file not in self._draft.names():
            raise NpuifyError(_NO_FILE, file=file)

    def _original(self, file: str) -> bytes:
        try:
            return self._draft.original(file)
        except OSError as error:
            raise NpuifyError(phrase("cannot be read: {value}", value=error.strerror or error), file=file) from None

    def _items_of(self, file: str) -> list[Item]:
        if file not in self._items:
            usual: MigratedFile | None = self._usual.get(file)
            about = [one for one in self._draft.about_project if one.file == file]
            now = self._draft.file(file)
            if usual is None:
                self._items[file] = items_of(file, b"", about, (), (), self.decisions, self._rules)
            else:
                raw = self._original(file) if any(one.edits for one in usual.found) else b""
                made = now.changes if now else ()
                found = [*usual.found, *about]
                self._items[file] = items_of(file, raw, found, usual.changes, made, self.decisions, self._rules)
        return self._items[file]

    def _take(self, decisions: Decisions) -> None:
        if decisions != self.decisions:
            self._apply(decisions)
            self._states = [*self._states[: self._at + 1], decisions]
            self._at += 1

    def _apply(self, new: Decisions) -> None:
        """Have the draft follow decisions, where they differ from those that hold.

        Raises:
            NpuifyError: a text by hand cannot be taken; nothing is changed then.
        """
        old = self.decisions
        with ENGINE:
            for file in _differing(old.by_hand, new.by_hand):
                self._take_text(file, new.by_hand.get(file))
                self._items.pop(file, None)
            edits, codes = _differing(old.edits, new.edits), _differing(old.rules, new.rules)
            files = {key.file for key in edits}
            if codes:
                files |= {name for name, file in self._usual.items() if _has_code(file, codes)}
            for file in files:
                self._decide(file, new)
                self._items.pop(file, None)
            self._result = self._new = None

    def _decide(self, file: str, new: Decisions) -> None:
        """Have a file follow decisions. What was made by the same ones before is taken again: undo takes no time."""
        usual = self._usual.get(file)
        key = file, new.key_of(file, usual)
        known = usual if new.of_file(file) is None else self._made.get(key)
        if known is None:
            self._draft.decide(file, new.of_file(file))
            known = self._draft.file(file)
            if known is not None:
                self._made[key] = known
        else:
            self._draft.put(known)

    def _take_text(self, file: str, text: str | None) -> None:
        if text is None:
            self._draft.write_by_hand(file, None)
            return
        original = self._original(file)
        try:
            raw = as_saved(text, original)
        except UnreadableText as error:
            raise NpuifyError(phrase("cannot be written by hand: {error}", error=error), file=file) from None
        self._draft.write_by_hand(file, raw)


def _differing(old: Mapping[T, object], new: Mapping[T, object]) -> set[T]:
    return {key for key in {*old, *new} if old.get(key) != new.get(key)}


def _has_code(file: MigratedFile, codes: set[str]) -> bool:
    return any(one.code in codes for one in file.found) or any(one.code in codes for one in file.changes)


def _write_patch(destination: Path, diff: str, *, force: bool) -> None:
    if destination.is_dir():
        raise NpuifyError("is a folder", advice="name a file for the patch", file=str(destination))
    if destination.exists() and not force:
        raise NpuifyError("is there already", advice="choose another name, or replace it", file=str(destination))
    if not destination.parent.is_dir():
        raise NpuifyError("there is no such folder", file=str(destination.parent))
    replace_files(destination.parent, {destination.name: diff.encode("utf-8", "surrogateescape")})
