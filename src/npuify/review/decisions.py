"""What a person decided on the edits of a migration."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from npuify.model import Position
    from npuify.rewrite.fixpoint import Decides, MigratedFile


class Key(NamedTuple):
    """An edit: where the first of its spans begins in the original, and the code that makes it."""

    file: str
    line: int
    column: int
    code: str


class Decisions(msgspec.Struct, frozen=True):
    """All decisions at one time. What is said of an edit counts for more than what is said of its rule."""

    edits: Mapping[Key, bool] = {}
    """Whether each is made; one that is not here is decided by its rule, or by its safety."""
    rules: Mapping[str, bool] = {}
    by_hand: Mapping[str, str] = {}
    """The whole text of a file, as a person wrote it."""

    def of(self, key: Key) -> bool | None:
        """Whether an edit is made; None where nobody decided."""
        return self.edits.get(key, self.rules.get(key.code))

    def of_file(self, file: str) -> Decides | None:
        """As :func:`npuify.rewrite.fixpoint.migrate_file` takes them; None where there are none on this file."""
        edits = {(key.line, key.column, key.code): made for key, made in self.edits.items() if key.file == file}
        if not edits and not self.rules:
            return None

        def decides(place: Position, code: str) -> bool | None:
            return edits.get((place.line, place.column, code), self.rules.get(code))

        return decides

    def key_of(self, file: str, usual: MigratedFile | None) -> Hashable:
        """By which it is known whether a file was migrated by the same decisions before.

        Args:
            usual: what becomes of it without any; later rounds may meet any rule, so all count where it has edits.
        """
        has_edits = usual is not None and any(one.edits for one in usual.found)
        edits = frozenset((key, made) for key, made in self.edits.items() if key.file == file)
        return edits, frozenset(self.rules.items()) if has_edits else frozenset()

    def with_edits(self, keys: Mapping[Key, bool | None]) -> Decisions:
        """These, with edits decided on besides; None takes a decision back."""
        edits = {**self.edits, **{key: made for key, made in keys.items() if made is not None}}
        for key, made in keys.items():
            if made is None:
                edits.pop(key, None)
        return msgspec.structs.replace(self, edits=edits)

    def with_rule(self, code: str, made: bool | None) -> Decisions:
        """These, with a decision on all edits of a rule, those decided on one by one as well."""
        edits = {key: one for key, one in self.edits.items() if key.code != code}
        rules = {**self.rules, **({} if made is None else {code: made})}
        if made is None:
            rules.pop(code, None)
        return msgspec.structs.replace(self, edits=edits, rules=rules)

    def with_text(self, file: str, text: str | None) -> Decisions:
        """These, with a file as a person wrote it; None: no longer."""
        by_hand = {**self.by_hand, **({} if text is None else {file: text})}
        if text is None:
            by_hand.pop(file, None)
        return msgspec.structs.replace(self, by_hand=by_hand)
