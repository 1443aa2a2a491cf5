"""``pip install …`` in a command line, read as a file of requirements whose offsets are those of the command.

So are the commands of uv, Poetry, PDM, Rye and pipenv that add requirements to a project, and conda's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OPTIONS = rb"(?:[ \t]+-[\w=./:-]+)*[ \t]+"
_INSTALL = re.compile(
    rb"\b(?:(?:(?:uv[ \t]+)?pip[\d.]*|pipenv|(?:open)?mim)%binstall|(?P<adds>uv|poetry|pdm|rye)%badd)[ \t]+"
    rb"(?P<arguments>(?:\"[^\"\r\n]*\"|'[^'\r\n]*'|\\\r?\n|[^;&|#\r\n\"'\\])+)" % (_OPTIONS, _OPTIONS)
)
_ARGUMENT = re.compile(rb"\"[^\"]*\"|'[^']*'|[^\s\"'\\]+(?:\"[^\"]*\"|'[^']*')?")
_WITH_VALUE = frozenset(
    (
        b"-f --find-links -i --index-url --extra-index-url --index --default-index -r --requirement --requirements -c "
        b"--constraint --constraints -t --target --prefix --platform --python-version --root --src --progress-bar "
        b"--timeout --default-timeout --retries --resume-retries --proxy --cert --client-cert --trusted-host "
        b"-e --editable "
        b"--torch-backend --no-binary --only-binary --no-binary-package --no-build-isolation-package --abi "
        b"--implementation --upgrade-strategy --cache-dir --log --report --exists-action -C --config-settings "
        b"--config-setting --global-option --install-option --build-option --use-feature --use-deprecated "
        b"--keyring-provider --index-strategy --prerelease --resolution --link-mode --exclude-newer --upgrade-package "
        b"-P --reinstall-package --refresh-package -p --python --group -G --extras -E --optional --extra --source "
        b"--package --project --directory --tag --rev --branch --bounds --marker -m --categories"
    ).split()
)
"""Options of pip, uv, Poetry, PDM and pipenv whose value is a word of its own."""
_BY_AT = re.compile(rb"(?<=[\w\]])@[^\s\"'@:/]+")
"""A version as Poetry's command line takes it: ``torch@^2.1``, ``torch@latest``."""
_SPECIAL = re.compile(r"[<>;&|*!$()\s]")


class PipCommand(NamedTuple):
    """One ``pip install``."""

    start: int
    """Where its arguments begin."""
    text: bytes
    """The arguments as a file of requirements, of the same length; blank is what no such file may hold."""
    arguments: tuple[tuple[int, int], ...]
    """Spans of the requirements, quotes included, counted as ``start`` is."""
    is_words: bool = False
    """The command is a list of words in quotes, as JSON has it; the spans leave the quotes out."""


def pip_commands(text: bytes, start: int, end: int) -> Iterator[PipCommand]:
    """The installations in ``text[start:end]``, a command or several."""
    for match in _INSTALL.finditer(text, start, end):
        first, last = match.span("arguments")
        out = bytearray(b" " * (last - first))
        spans = []
        value_of = b""
        for argument in _ARGUMENT.finditer(text, first, last):
            begin, stop = argument.start() - first, argument.end() - first
            word = argument.group()
            quoted = word[:1] in (b'"', b"'")
            plain = b" " + word[1:-1] + b" " if quoted else word
            if match["adds"] and b"://" not in word:
                plain = _BY_AT.sub(lambda found: b" " * len(found.group()), plain)
            out[begin:stop] = plain
            if not value_of and begin:
                out[begin - 1 : begin] = b"\n"
            if not word.startswith(b"-") and value_of in (b"", b"-e", b"--editable"):
                spans.append((argument.start(), argument.end()))
            value_of = word if word in _WITH_VALUE else b""
        yield PipCommand(first, bytes(out), tuple(spans))


_WORDS_INSTALL = re.compile(
    rb'"(?:(?:pip[\d.]*|pipenv)"(?:\s*,\s*"-[^"\s]*")*\s*,\s*"install'
    rb'|(?:uv|poetry|pdm|rye)"(?:\s*,\s*"-[^"\s]*")*\s*,\s*"add)"\s*,'
)
_JSON_WORDS = re.compile(rb"\[\s*(?:\"[^\"\\\s]*\"\s*,?\s*)+\]\s*\Z")


def pip_words(text: bytes, start: int, end: int) -> Iterator[PipCommand]:
    """The installation in ``text[start:end]``, where that is a list of words like ``["pip", "install", "torch"]``."""
    install = _WORDS_INSTALL.search(text, start, end)
    if install is None or _JSON_WORDS.fullmatch(text[start:end]) is None:
        return
    plain = re.sub(rb"[\[\],\"]", b" ", text[:end])
    # Blanks alone stand between the two words now, which the search needs, and no line end.
    head = re.sub(rb"\s", b" ", plain[start : install.end()])
    for command in pip_commands(plain[:start] + head + plain[install.end() :].replace(b"\n", b" "), start, end):
        yield command._replace(is_words=True)


def conda_command(text: bytes, start: int, end: int, arguments: Iterable[tuple[int, int]]) -> PipCommand:
    """A command of conda's that installs ``arguments``, given by their spans; all else is blank."""
    out = bytearray(b" " * (end - start))
    kept = []
    for first, last in arguments:
        out[first - start : last - start] = text[first:last]
        kept.append((first, last))
    return PipCommand(start, bytes(out), tuple(kept))


def as_argument(text: str) -> str:
    """A requirement as a shell takes it: in quotes where it has signs that mean something to a shell."""
    return f'"{text}"' if _SPECIAL.search(text) else text
