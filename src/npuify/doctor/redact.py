"""Takes out of a capture what must not leave the machine: names of users, secrets, and the host's name."""

from __future__ import annotations

import posixpath
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

_WORDS: Final = frozenset(
    """
    aarch64 ai amd64 arm64 ascend ascend-toolkit ascend_toolkit bin boot cann cann-nnal cards conda config cpu
    cuda data davinci dev device devices docker driver etc firmware hccl hccn home host info kernel latest lib
    lib64 linux local localhost lost nnae nnal node npu npu-smi ok opp opt proc python python3 root run runtime
    sbin server share site-packages srv sys test tmp toolkit tools torch torch_npu torch-npu triton user usr var
    version video x86_64
    """.split()
)
"""Words that paths and answers are made of. Who is called like one is named in fields for names only: elsewhere it
cannot be told whether the word means them, and then it does not tell of them either."""
_LIKE_A_PRODUCT: Final = re.compile(
    r"(?i)\d+|\d{3,}[a-z]?\w*|ascend\w*|atlas\w*|davinci\w*|[\d.]+|\d+\.\d+\.\w+(?:\.\w+)*"
)

HIDDEN: Final = "removed"
_NAMES_OF_HOSTS: Final = frozenset({"HOSTNAME", "MASTER_ADDR"})
_TABLES: Final = frozenset({"python inventory", "npu-smi info"})

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
        self._home = environment.get("HOME", "").rstrip("/")
        self._everyone = people - _KNOWN_ACCOUNTS - {""}
        self._people = sorted(filter(_tells, self._everyone), key=len, reverse=True)
        names = {environment.get("HOSTNAME", ""), host} - {"localhost"}
        self._all_hosts = names - {""}
        self._hosts = sorted((name for name in names if len(name) > 1 and _tells(name)), key=len, reverse=True)
        self._secrets = sorted(
            {
                value
                for name, value in environment.items()
                if _SECRET_NAME.search(name) and len(value) >= 6 and _tells(value)
            },
            key=len,
            reverse=True,
        )

    def text(self, text: str) -> str:
        """``text`` without secrets, persons and the host's name."""
        text = self._without_secrets(text)
        for person in self._people:
            text = re.sub(rf"(?<![\w.-]){re.escape(person)}(?![\w-])", USER, text)
        for host in self._hosts:
            text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", HOST, text)
        return text

    def _without_secrets(self, text: str) -> str:
        """``text`` without secrets, and without persons where only a person can stand: in home folders and accounts."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        text = _KEY_BLOCK.sub(HIDDEN, text)
        text = _IN_ADDRESS.sub(rf"\g<scheme>{HIDDEN}@", text)
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        text = _ASSIGNED.sub(rf"\1\2{HIDDEN}\2", text)
        if self._home.count("/") > 1 and posixpath.basename(self._home) in self._everyone:
            text = re.sub(rf"{re.escape(self._home)}(?![\w.-])", f"{posixpath.dirname(self._home)}/{USER}", text)
        text = _HOME.sub(rf"\g<above>{USER}", text)
        return _ID.sub(lambda match: f"{match[1]}({self.account(match[2])})", text)

    def names_of_hosts(self, text: str) -> str:
        """A text whose words are names and addresses of hosts, such as ``/etc/hosts``."""
        words = re.split(r"(\s+)", text)
        return self.text("".join(HOST if word in self._all_hosts else word for word in words))

    def answer(self, command: str, text: str) -> str:
        """What a command said. Tables of packages and cards hold persons in paths only, and hosts nowhere."""
        if command not in _TABLES:
            return self.text(text)
        return self._without_secrets(text)

    def account(self, name: str) -> str:
        """The name of a user or group; only accounts of the system keep theirs."""
        return name if name in _KNOWN_ACCOUNTS or name.isdigit() else USER

    def variable(self, name: str, value: str) -> str:
        """The value of an environment variable."""
        if _SECRET_NAME.search(name):
            return HIDDEN
        return HOST if value in self._all_hosts and name in _NAMES_OF_HOSTS else self.text(value)


def _tells(name: str) -> bool:
    """Whether a word, found anywhere, can only be the name."""
    return name.lower() not in _WORDS and name not in _KNOWN_ACCOUNTS and not _LIKE_A_PRODUCT.fullmatch(name)
