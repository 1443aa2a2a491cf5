"""Where a project's source comes from, read from the files of git; git itself is not run."""

from __future__ import annotations

import configparser
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ADDRESS = re.compile(r"(?:https://|ssh://|git@)[\w.~:/@+-]+")


class Origin(NamedTuple):
    """An address that git clones, and the commit; either may be empty."""

    address: str
    commit: str


def origin(root: Path) -> Origin:
    """The origin of a working copy of git; both empty where ``root`` is none.

    Names and passwords in an address are left out.
    """
    folder = root / ".git"
    if not folder.is_dir():
        return Origin("", "")
    return Origin(_address(folder / "config"), _commit(folder))


def _address(config: Path) -> str:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(config.read_text(encoding="utf-8"))
        address = parser.get('remote "origin"', "url", fallback="")
    except (OSError, UnicodeDecodeError, configparser.Error):
        return ""
    address = re.sub(r"(?<=://)[^/@]*@", "", address.strip())
    return address if _ADDRESS.fullmatch(address) else ""


def _commit(folder: Path) -> str:
    try:
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
        if head.startswith("ref: "):
            name = head[5:]
            loose = folder / name
            if loose.is_file() and ".." not in name:
                head = loose.read_text(encoding="utf-8").strip()
            else:
                packed = (folder / "packed-refs").read_text(encoding="utf-8")
                head = next((line.split()[0] for line in packed.splitlines() if line.endswith(f" {name}")), "")
    except (OSError, UnicodeDecodeError):
        return ""
    return head if _COMMIT.fullmatch(head) else ""
