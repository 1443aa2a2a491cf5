"""Extract texts, bring the catalogs up to date with them, compile them, and tell what is wrong with them."""

from __future__ import annotations

import io
import re
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, NamedTuple

import tomli
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from npuify.helpers import compute_device
from npuify.language.code import texts_of_code
from npuify.scripts.template import comments
from tools.catalogs.domains import CATALOGS, CODE, COMMENTED, PACKAGE, code_with_texts, domain_of, files_with_texts
from tools.catalogs.python_texts import Glued, texts_of
from tools.catalogs.schemas import texts_of_schemas
from tools.catalogs.tables import texts_of_table

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_TEXT = Path(__file__).parent / "not_text.toml"


class Message(NamedTuple):
    """A text of npuify, with its plural where it has one."""

    one: str
    many: str
    file: str


class Extracted(NamedTuple):
    """The texts of each catalog, and sentences that are glued together, by file."""

    texts: dict[str, list[Message]]
    glued: dict[str, list[Glued]]


def extract() -> Extracted:
    """All texts. One that stands in several rooms is in the catalog of the first."""
    texts: dict[str, list[Message]] = {}
    glued: dict[str, list[Glued]] = {}
    seen: set[str] = set()
    left_out = tomli.loads(_NOT_TEXT.read_text("utf-8")).get("texts", {})
    for path in files_with_texts():
        relative = path.relative_to(PACKAGE).as_posix()
        if path.suffix in COMMENTED:
            found = [Message(text, "", relative) for text in comments(path.read_text("utf-8"))]
        elif path.suffix == ".toml":
            found = [Message(text, "", relative) for text in texts_of_table(path)]
        else:
            own, pieces = texts_of(path.read_text("utf-8"), all_strings=True)
            found = [Message(text.one, text.many, relative) for text in sorted(own, key=lambda text: text.line)]
            no_text = tuple(left_out.get(relative, ()))
            found = [one for one in found if not (no_text and one.one.startswith(no_text))]
            pieces = [one for one in pieces if not (no_text and one.shown.startswith(no_text))]
            if pieces:
                glued[relative] = pieces
        for message in found:
            if message.one not in seen:
                seen.add(message.one)
                texts.setdefault(domain_of(path), []).append(message)
    in_code = [(path.relative_to(PACKAGE).as_posix(), path.read_text("utf-8"), of) for path, of in code_with_texts()]
    in_code.append(("helpers/compute_device.py", compute_device.TEXT, CODE["helpers"]))
    of_code: set[str] = set()
    for file, source, domain in in_code:
        for text in texts_of_code(source):
            if text not in of_code:
                of_code.add(text)
                texts.setdefault(domain, []).append(Message(text, "", file))
    for text, file in texts_of_schemas():
        if text not in seen:
            seen.add(text)
            texts.setdefault("schemas", []).append(Message(text, "", file))
    return Extracted(texts, glued)


def read(domain: str) -> Catalog:
    """The catalog as it stands; an empty one where there is none."""
    file = CATALOGS / f"{domain}.po"
    if not file.exists():
        return Catalog(locale="zh_CN", domain=domain)
    with file.open("rb") as stream:
        return read_po(stream, locale="zh_CN", domain=domain)


def updated(domain: str, texts: list[Message], known: dict[str, str]) -> Catalog:
    """The catalog of a domain with exactly these texts, and what is known of their translations."""
    made = Catalog(locale="zh_CN", domain=domain, project="npuify", charset="utf-8")
    for message in texts:
        identity = (message.one, message.many) if message.many else message.one
        translation = known.get(message.one, "")
        made.add(identity, (translation,) if message.many else translation, locations=[(message.file, 0)])
    return made


def translations() -> dict[str, str]:
    """What the catalogs have for each text."""
    known: dict[str, str] = {}
    for file in sorted(CATALOGS.glob("*.po")):
        for message in read(file.stem):
            one = message.id[0] if isinstance(message.id, tuple) else message.id
            said = message.string[0] if isinstance(message.string, tuple) else message.string
            if one and said:
                known[one] = said
    return known


_DATE = re.compile(rb"((?:POT-Creation|PO-Revision)-Date: )([^\n]*)")
_HEADER = r"""msgid ""
msgstr ""
"Language: zh_CN\n"
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=1; plural=0;\n"

"""


def as_po(catalog: Catalog) -> bytes:
    """The file of a catalog: nothing in it changes that is not about texts."""
    stream = io.BytesIO()
    write_po(stream, catalog, width=0, include_lineno=False, omit_header=True)
    return _HEADER.encode() + stream.getvalue()


def as_mo(catalog: Catalog) -> bytes:
    """The compiled file of a catalog."""
    header = Catalog(locale="zh_CN", domain=catalog.domain)
    for message in catalog:
        if message.id and (message.string[0] if isinstance(message.string, tuple) else message.string):
            header.add(message.id, message.string)
    stream = io.BytesIO()
    write_mo(stream, header)
    # The header has dates, which would make each file a new one.
    return _DATE.sub(lambda match: match[1] + b"0" * len(match[2]), stream.getvalue())


def update() -> list[str]:
    """Bring all catalogs up to date and compile them; the names of those that changed."""
    known = translations()
    texts = extract().texts
    changed = []
    CATALOGS.mkdir(parents=True, exist_ok=True)
    for old in CATALOGS.glob("*.[pm]o"):
        if old.stem not in texts:
            old.unlink()
            changed.append(old.name)
    for domain, messages in sorted(texts.items()):
        catalog = updated(domain, messages, known)
        for file, data in ((f"{domain}.po", as_po(catalog)), (f"{domain}.mo", as_mo(catalog))):
            path = CATALOGS / file
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
                changed.append(file)
    return changed


# --- what is wrong ---


def placeholders(text: str) -> set[str]:
    """The placeholders of a text; those of a broken one are none."""
    try:
        return {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError:
        return set()


def faults(english: str, other: str) -> Iterator[str]:
    """What is wrong with one translation."""
    # A shell takes the letters behind $NAME for its name, so a translation has ${NAME}.
    other = re.sub(r"\$\{(\w+)\}", lambda found: f"${found[1]}" if f"${found[1]}" in english else found[0], other)
    # The number may be missing where it is one.
    if placeholders(english) | {"count"} != placeholders(other) | {"count"}:
        yield f"placeholders {sorted(placeholders(english))} and {sorted(placeholders(other))}"
    plain = re.sub(r"\{\w*[^}]*\}", "X", other)
    if re.search(r"[\u4e00-\u9fff] *[,;:!?](?=$|\s|[\u4e00-\u9fff])", plain):
        yield "half-width punctuation behind Chinese"
    if re.search(r"[\u4e00-\u9fff]\.(?=$|\s)", plain):
        yield "half-width full stop"
    if re.search(r"[\u4e00-\u9fff] +[\u4e00-\u9fff]", plain):
        yield "blank between Chinese characters"
    if re.search(r" [，。；：？！、）」]|[，。；：？！、（「] ", other):
        yield "blank beside full-width punctuation"
    if _blank_is_missing(english[:1], other[:1]) or _blank_is_missing(english[-1:], other[-1:]):
        yield "blank at an end"
    if not re.search(r"[\u4e00-\u9fff]", other) and is_sentence(english):
        yield "left in English"


def _blank_is_missing(english: str, other: str) -> bool:
    return english == " " and other.isascii() and other not in (" ", "{")


def is_sentence(text: str) -> bool:
    """Whether a text has words to translate, not only names of things or a command to type."""
    return (
        not re.match(r"(pip|npuify|npu-smi|git|cmake|python|source|bash) \S", text)
        and len(re.findall(r"(?<![\w.\-_/{=])[a-z]{2,}(?![\w.\-_/}=(])", text)) >= 3
    )
