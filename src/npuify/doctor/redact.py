"""Takes out of a capture what must not leave the machine: names of users, secrets, and the host's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRET_NAME: Final = re.compile(
    r"(?i)(?:^|[_\W])(?:pass(?:word|wd|phrase)?|secret|token|api_?key|access_?key|private_?key|credential|auth)"
)
_ASSIGNED: Final = re.compile(
    r"(?i)(\b[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|api_?key|access_?key|private_?key|credential)[\w.-]*"
    r"[\"']?\s*[=:]\s*)([\"']?)(?!\d{1,4}(?:\.\d{1,8})+(?:[.+-]?[a-z]{1,5}\d{0,8})?\2(?:[\s,;}\]]|$))[^\s\"',;]+\2"
)
"""A version is no secret: ``tokenizers`` and ``tiktoken`` are packages. Quotes stay, so that JSON stays JSON."""
_IN_ADDRESS: Final = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^\s/@:]*(?::[^\s/@]*)?@")
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_KEY_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_HOME: Final = re.compile(r"(?P<above>/(?:home|Users|data/home|users)/)(?P<name>[^/\s:\"']+)")
_ID: Final = re.compile(r"(?<=[=,])(\d+)\(([^)\s]+)\)")
_KNOWN_ACCOUNTS: Final = frozenset(
    {"root", "HwHiAiUser", "HwBaseUser", "HwDmUser", "nobody", "nogroup", "wheel", "docker", "video", "users", "daemon"}
)
"""Accounts of the system and of the driver's installer: they name no person, and the checks need them."""

HIDDEN: Final = "removed"
USER: Final = "user"
HOST: Final = "host"


class Redactor:
    """Replaces the same thing by the same word everywhere, so that what belongs together still does.

    Args:
        environment: of the machine; says who the user is and what the host is called.
        host: the host's name, where a file tells it.
    """

    def __init__(self, environment: Mapping[str, str], host: str = "") -> None:
        people = {environment.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")}
        home = _HOME.match(environment.get("HOME", "") + "/")
        if home:
            people.add(home["name"])
        self._people = sorted(people - _KNOWN_ACCOUNTS - {""}, key=len, reverse=True)
        names = {environment.get("HOSTNAME", ""), host} - {"localhost"}
        self._hosts = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
        self._secrets = sorted(
            {value for name, value in environment.items() if _SECRET_NAME.search(name) and len(value) >= 6},
            key=len,
            reverse=True,
        )

    def text(self, text: str) -> str:
        """``text`` without secrets, persons and the host's name."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        text = _KEY_BLOCK.sub(HIDDEN, text)
        text = _IN_ADDRESS.sub(rf"\g<scheme>{HIDDEN}@", text)
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        text = _ASSIGNED.sub(rf"\1\2{HIDDEN}\2", text)
        text = _HOME.sub(rf"\g<above>{USER}", text)
        text = _ID.sub(lambda match: f"{match[1]}({self.account(match[2])})", text)
        for person in self._people:
            text = re.sub(rf"(?<![\w.-]){re.escape(person)}(?![\w-])", USER, text)
        for host in self._hosts:
            text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", HOST, text)
        return text

    def account(self, name: str) -> str:
        """The name of a user or group; only accounts of the system keep theirs."""
        return name if name in _KNOWN_ACCOUNTS or name.isdigit() else USER

    def variable(self, name: str, value: str) -> str:
        """The value of an environment variable."""
        return HIDDEN if _SECRET_NAME.search(name) else self.text(value)
