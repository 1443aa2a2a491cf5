"""What of an earlier scan still holds, although files have changed since.

A result depends on files that were looked at, and on what searches of all files' texts have said. Most changes of a
file leave the latter as they were: only the results that depend on the file itself have to be found anew.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from npuify.analysis.files import SEARCHED
from npuify.analysis.project import EVERY_FILE, IMPORTS
from npuify.analysis.texts.index import renewed
from npuify.engine.kept.cache import CachedAnswer, stamp
from npuify.engine.kept.files import TOO_NEW, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from npuify.analysis.project import ProjectIndex
    from npuify.engine.kept.cache import CacheContents, CachedFile, CachedResult, ScanCache, State

T = TypeVar("T")

_MOST_CHANGED: Final = 8
"""Of one in so many files, what searches say of them is asked anew; where more have changed, nothing is known."""
_ALWAYS: Final = (0, 0)
_NEVER: Final = (-1, -1)
"""The state of what was just being changed."""


class Standing:
    """Which of what the last scan left holds now.

    Args:
        root: the project's root.
        python: its Python files.
        files: what is known of its files now, without results.
        project: as in :class:`npuify.engine.kept.cache.CacheContents`, for the project as it is now.
        cache: what the last scan left.
    """

    def __init__(
        self,
        root: str,
        python: Sequence[str],
        files: Mapping[str, CachedFile],
        project: str,
        cache: ScanCache,
    ) -> None:
        self._root = root
        self._files = files
        self._python = python
        self._started = cache.started
        self._last: CacheContents | None = cache.last if cache.last.project == project else None
        self._known: dict[str, State | None] = {}
        self.answers: dict[str, CachedAnswer] = {}
        """All that :meth:`once` has said."""
        self.searches: dict[str, bytes] = self._renewed()
        """What is known of searches, as they are now."""
        self._are_searches_same = self._last is not None and self.searches == self._last.searches
        self._imports = ""

    def _renewed(self) -> dict[str, bytes]:
        if self._last is None:
            return {}
        changed = {}
        for number, relative in enumerate(self._python):
            then, now = self._last.files.get(relative), self._files.get(relative)
            if then is None or now is None:
                return {}  # nobody knows what it holds, or held
            if then.content != now.content:
                changed[number] = relative
        if len(changed) * _MOST_CHANGED > len(self._python) + _MOST_CHANGED:
            return {}
        texts = {}
        for number, relative in changed.items():
            try:
                with open(f"{self._root}/{relative}", "rb") as stream:  # noqa: PTH123
                    texts[number] = stream.read()
            except OSError:
                return {}
        return renewed(self._last.searches, texts)

    # --- states ---

    def state(self, relative: str) -> State | None:
        """What a file of the project holds, as far as that can be told; None where it is not there."""
        if relative not in self._known:
            self._known[relative] = self._state(relative)
        return self._known[relative]

    def _state(self, relative: str) -> State | None:
        if relative == SEARCHED:
            return _ALWAYS
        if relative == IMPORTS:
            return _number(self._digest_of_imports()), len(self._python)
        if relative == EVERY_FILE:
            texts = sorted(f"{one} {self.state(one)}" for one in self._python)
            return _number(digest(texts)), len(self._python)
        known = self._files.get(relative)
        if known is not None:
            return known.content, known.stamp[1]
        now = stamp(os.path.join(self._root, relative))  # noqa: PTH118
        return now if now is None or self._started - now[0] > TOO_NEW else _NEVER

    def _digest_of_imports(self) -> str:
        if not self._imports:
            found = [(one, file.imports) for one in self._python if (file := self._files.get(one)) is not None]
            self._imports = sha256(msgspec.msgpack.encode(found)).hexdigest()
        return self._imports

    def states(self, dependencies: Iterable[str]) -> list[tuple[str, State]]:
        """Files that something depends on, as they are now."""
        return [(one, self.state(one) or _ALWAYS) for one in sorted(dependencies)]

    def _hold(self, dependencies: Iterable[tuple[str, State]]) -> bool:
        return all(
            self._are_searches_same if one == SEARCHED else (self.state(one) or _ALWAYS) == then != _NEVER
            for one, then in dependencies
        )

    # --- what holds ---

    def result(self, relative: str) -> CachedResult | None:
        """What the rules found in a file, where that still holds."""
        if self._last is None:
            return None
        then, now = self._last.files.get(relative), self._files.get(relative)
        if then is None or now is None or then.result is None or then.content != now.content:
            return None
        return then.result if self._hold(then.result.dependencies) else None

    def once(self, key: str, sort: Any, project: ProjectIndex, answer: Callable[[ProjectIndex], T]) -> T:
        """The answer to a question about the project: that of the last scan where it still holds.

        Args:
            key: tells the question from all others.
            sort: the type of the answer, as msgspec decodes it.
            project: the project's files.
            answer: takes a view of the project, which notes what is looked at.
        """
        known = self.answers.get(key)
        if known is None and self._last is not None:
            then = self._last.answers.get(key)
            known = then if then is not None and self._hold(then.dependencies) else None
        if known is not None:
            self.answers[key] = known
            found: T = msgspec.msgpack.decode(known.answer, type=sort)
            return found
        view = project.view()
        found = answer(view)
        self.answers[key] = CachedAnswer(msgspec.Raw(msgspec.msgpack.encode(found)), self.states(view.dependencies))
        return found

    def keep_answers(self) -> None:
        """Keep what :meth:`once` said in the last scan, where all that it rests on is the same, for the next."""
        if self._last is not None:
            self.answers = {**self._last.answers, **self.answers}


def _number(text: str) -> int:
    return int(text[:14], 16)
