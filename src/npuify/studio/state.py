"""What one server holds: reviews, running commands, and files that were dropped in."""

from __future__ import annotations

import base64
import os
import secrets
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.language import VARIABLE, phrase, speaking, spoken
from npuify.model import NpuifyError
from npuify.process.itself import PLAIN, npuify_command
from npuify.process.watched import Watched
from npuify.review import Review
from npuify.review.places import remember
from npuify.studio.commands import arguments, tool_of
from npuify.studio.jobs import Job, Progress

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from npuify.options import Options

_MOST: Final = 8
"""Reviews, or commands, at one time: each holds a project in memory."""
_REMEMBERED: Final = 20
"""Commands that have ended, and whose output can still be asked for."""
_LONGEST_NAME: Final = 80
"""Of a file that is dropped in: what every system takes, in whatever script."""


class Opened:
    """A project that is opened: first the work on it, then its review."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path = path
        self.language = options.language or spoken()
        self._options = options
        self.job: Job[Review] = Job(self._work)

    def _work(self, reading: Progress, migrating: Progress) -> Review:
        with speaking(self.language):
            review = Review(self.path, self._options, migrating, reading)
            # The verdict follows the paths of all programs, which the page would wait for.
            review.result()
            return review

    def speak(self, language: str) -> bool:
        """Have what was found told in another language; whether work on that has begun.

        Raises:
            NpuifyError: it is not ready, or files have changed since they were read.
        """
        review = self.review()
        if language in ("", self.language):
            return False
        review.check_unchanged()
        before, self.language = self.language, language

        def work(reading: Progress, migrating: Progress) -> Review:
            with speaking(language):
                try:
                    again = review.again(language, migrating, reading)
                except NpuifyError:
                    # What was decided is not lost over the language that it is shown in.
                    self.language = before
                    return review
                again.result()
                return again

        self.job = Job(work)
        return True

    def review(self) -> Review:
        """The review.

        Raises:
            NpuifyError: it is not ready.
        """
        if self.job.told()["state"] != "ready" or self.job.answer is None:
            raise NpuifyError("this project is not ready")
        return self.job.answer


class State:
    """All of it; used by several threads.

    Args:
        start: the project that the command line named; None where it named none.
    """

    def __init__(self, start: Path | None = None) -> None:
        self.start = start
        self._lock = threading.Lock()
        self._opened: dict[str, Opened] = {}
        self._running: dict[str, Watched] = {}
        self._dropped: tempfile.TemporaryDirectory[str] | None = None

    # --- reviews ---

    def open(self, path: Path, options: Options) -> str:
        """Begin a review; its name.

        Raises:
            NpuifyError: there is no such folder or file, or too many are open.
        """
        place = Path(os.path.realpath(path.expanduser()))
        if not place.exists():
            raise NpuifyError("there is no such file or folder", file=str(path))
        with self._lock:
            for name in [name for name, one in self._opened.items() if one.job.told()["state"] in _ENDED]:
                del self._opened[name]
            if len(self._opened) >= _MOST:
                raise NpuifyError(phrase("{MOST} projects are open", MOST=_MOST), advice="close one of them")
            name = secrets.token_hex(8)
            self._opened[name] = Opened(place, options)
        remember(place)
        return name

    def opened(self, name: str) -> Opened:
        """A project that is open.

        Raises:
            NpuifyError: it is not.
        """
        with self._lock:
            if name not in self._opened:
                raise NpuifyError("this project is no longer open", advice="open it again")
            return self._opened[name]

    def close(self, name: str) -> None:
        """Let go of a review and of all that was decided in it."""
        with self._lock:
            opened = self._opened.pop(name, None)
        if opened is not None:
            opened.job.cancel()

    def list(self) -> list[tuple[str, str, str]]:
        """Name, path and state of each project that is open."""
        with self._lock:
            return [(name, str(one.path), one.job.told()["state"]) for name, one in self._opened.items()]

    # --- commands ---

    def run(self, tool: str, values: Mapping[str, Any], language: str = "") -> str:
        """Start a command, which speaks ``language`` where one is said; its name.

        Raises:
            NpuifyError: an answer is wrong, or the command cannot be started.
        """
        folder = Path(str(values.get("cwd") or Path.cwd())).expanduser()
        if not folder.is_dir():
            raise NpuifyError("there is no such folder", file=str(folder))
        command = npuify_command(arguments(tool_of(tool), values))
        with self._lock:
            running = [one for one in self._running.values() if one.after(0)[2] is None]
            if len(running) >= _MOST:
                raise NpuifyError(phrase("{MOST} commands are running", MOST=_MOST), advice="stop one of them")
            try:
                watched = Watched(command, folder, {**os.environ, **PLAIN, VARIABLE: language or spoken()})
            except OSError as error:
                raise NpuifyError(phrase("cannot be started: {error}", error=error)) from None
            name = secrets.token_hex(8)
            self._running[name] = watched
            for key in [key for key, one in self._running.items() if one.after(0)[2] is not None][:-_REMEMBERED]:
                del self._running[key]
        return name

    def running(self, name: str) -> Watched:
        """A command that was started.

        Raises:
            NpuifyError: it is not known.
        """
        with self._lock:
            if name not in self._running:
                raise NpuifyError("this command is no longer known")
            return self._running[name]

    def drop(self, name: str, content: str) -> str:
        """Keep a file that was dropped in until the server ends; its path. In a folder of its own, it has the name
        that it had, as far as that is plain: answers tell of it by its name, and ranks are known by those of logs.

        Args:
            content: in base 64.

        Raises:
            NpuifyError: it is not.
        """
        try:
            data = base64.b64decode(content, validate=True)
        except ValueError:
            raise NpuifyError("the file did not arrive whole") from None
        with self._lock:
            if self._dropped is None:
                self._dropped = tempfile.TemporaryDirectory(prefix="npuify-studio-")
        plain = "".join(one if one.isalnum() or one in "._-" else "_" for one in name)[-_LONGEST_NAME:].lstrip(".")
        path = Path(self._dropped.name) / secrets.token_hex(4) / (plain or "file")
        path.parent.mkdir()
        path.write_bytes(data)
        return str(path)

    def end(self) -> None:
        """Stop all that runs, and remove what was dropped in."""
        with self._lock:
            opened, running = list(self._opened.values()), list(self._running.values())
            self._opened, self._running = {}, {}
        for one in opened:
            one.job.cancel()
        for command in running:
            command.stop()
        if self._dropped is not None:
            self._dropped.cleanup()


_ENDED: Final = ("failed", "cancelled")
