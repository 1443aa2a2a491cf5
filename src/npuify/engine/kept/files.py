"""Files in which scans keep what they found: where they lie, how they are written, and what they hold for."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from npuify import version

if TYPE_CHECKING:
    from collections.abc import Iterable

TOO_NEW = 2_000_000_000
"""Nanoseconds. A file changed so shortly ago may change again without its time showing it."""


def write_whole(location: Path, data: bytes) -> None:
    """Put a file there as a whole, or leave what was there.

    Raises:
        OSError: it cannot be written.
    """
    location.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=location.parent, prefix="scan-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, location)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def cache_folder() -> Path:
    """Where scans keep what they found."""
    import platformdirs

    return Path(os.environ.get("NPUIFY_CACHE_DIR") or platformdirs.user_cache_dir("npuify", appauthor=False)) / "scan"


@cache
def own_code() -> str:
    """Changes whenever a file of npuify itself does; what a process has imported stays, so it is asked once."""
    package = Path(version.__file__).parent
    newest = 0
    for folder, _, names in os.walk(package):
        if not folder.endswith("__pycache__"):
            newest = max(newest, *(os.stat(f"{folder}/{name}").st_mtime_ns for name in names), 0)  # noqa: PTH116
    return f"{version.__version__} {newest}"


def content_digest(data: bytes) -> int:
    """A number that differs between files of other contents, as far as one of 56 bits can."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=7).digest(), "big")


def digest(parts: Iterable[str]) -> str:
    """A short text that differs between other texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
