"""Files that the running Python cannot parse: reported, and searched by words so that nothing is passed over."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, FileError, Finding, Position, Safety, Severity
from npuify.rules.registry import Rule, list_rule
from npuify.source.python.python2 import may_be_python_2
from npuify.source.suppressions import suppressed_codes
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(
    rb"torch\.cuda(?:\.\w+)*|\.cuda\(|\.is_cuda\b|[\"']cuda(?::\d*)?[\"']|[\"']nccl[\"']|CUDA_VISIBLE_DEVICES"
    rb"|\btf\d?\.(?:compat\.v1\.)?(?:InteractiveSession|Session|ConfigProto|GPUOptions|estimator\.(?:Estimator|RunConfig))\b"
    rb"|\.managed_session\b|\bgpu_options\b|\bhvd\.\w+|[\"']/?(?:device:)?[gG][pP][uU](?::\d+|:%d)?[\"']"
)
_COMMENT = re.compile(rb"^\s*#")
_FIRST_LINE_OF_MAGIC = re.compile(rb"^\s*[%!]")


def search_tokens(relative: str, raw: bytes, error: SyntaxError) -> tuple[list[Finding], list[FileError]]:
    """What can be said of a file that does not parse: the error with its line, and each place that names CUDA."""
    line = error.lineno or 0
    reason = phrase("the running Python cannot parse it: {msg}", msg=error.msg)
    advice = _advice(raw)
    failed = FileError(relative, reason, line, advice)
    try:
        text = Text(raw)
    except UnreadableText:
        return [], [failed]
    silenced = suppressed_codes(text, None)
    why = phrase("is in a file that cannot be parsed, and was not migrated")
    todo = phrase("make the file valid for the Python that runs npuify, then migrate again")
    found = _findings(relative, text, why, todo)
    return [finding for finding in found if not (silenced and silenced(finding))], [failed]


def search_undecoded(relative: str, raw: bytes, error: UnreadableText) -> tuple[list[Finding], list[FileError]]:
    """What can be said of a file whose bytes are no text in the encoding that it claims, or no notebook."""
    failed = FileError(relative, error.message, error.line, _OF_ENCODING if "text" in error.message else _LEFT)
    text = text_to_search(raw)
    why = phrase("is in a file that cannot be read, and was not migrated")
    return list(_findings(relative, text, why, phrase("make the file readable, then migrate again"))), [failed]


def search_template(relative: str, raw: bytes) -> list[Finding]:
    """What names CUDA in a file from which programs are made: nobody knows what they are before that."""
    why = phrase("is in a template, which was not migrated: what is made from it names CUDA")
    text = text_to_search(raw)
    silenced = suppressed_codes(text, None)
    found = _findings(relative, text, why, phrase("make the same changes in the template by hand"))
    return [finding for finding in found if not (silenced and silenced(finding))]


def text_to_search(raw: bytes) -> Text:
    """The text of a file, each byte as a character where it is no text in the encoding that it claims.

    Words of ASCII are found so in any encoding that holds them as they are.
    """
    try:
        return Text(raw)
    except UnreadableText:
        # The mark keeps a line that names an unknown encoding from being asked again.
        return Text(codecs.BOM_UTF8 + raw.decode("latin-1").encode())


_LEFT = "it was left as it is"
_OF_ENCODING = (
    "it was left as it is, and Python 3 does not run it: save it as UTF-8, or name its encoding in the first line, "
    "as in # -*- coding: gbk -*-"
)


def _findings(relative: str, text: Text, why: str, advice: str) -> Iterator[Finding]:
    starts = [*text.line_starts, len(text.data)]
    for match in _WORD.finditer(text.data):
        line = text.line_of(match.start())
        before = text.data[starts[line - 1] : match.start()]
        if _COMMENT.match(before):
            continue
        word = match.group().decode("utf-8", "replace")
        yield Finding(
            code=RULE.code,
            name=RULE.name,
            severity=RULE.severity,
            safety=RULE.safety,
            file=relative,
            start=Position(*text.position(match.start())),
            end=Position(*text.position(match.end())),
            message=phrase("{word} {why}", word=word, why=why),
            evidence=RULE.evidence,
            source=RULE.source,
            subject=word.strip("\"'.("),
            advice=advice,
        )


def _advice(raw: bytes) -> str:
    if may_be_python_2(raw):
        return phrase("it looks like Python 2; convert it with 2to3 or python-modernize first")
    if any(_FIRST_LINE_OF_MAGIC.match(line) for line in raw.splitlines()):
        return phrase("it contains IPython magics, which are not Python")
    return phrase("fix the syntax error, or run npuify with a newer Python")


def _documentation(node: object, file: object) -> Iterator[object]:
    """A file that cannot be parsed or read, or a template of programs, names CUDA; it is only searched for words, and
    not migrated.
    """
    raise NotImplementedError("files that do not parse are searched by search_tokens")


RULE = list_rule(
    Rule(
        "NPU190",
        "cuda-in-unparsed-file",
        Safety.MANUAL,
        Severity.WARNING,
        Evidence.ASSUMED,
        "a search for words, without the file's structure",
        (),
        (),
        _documentation,
    )
)
"""Listed with the rules; what it finds comes from :func:`search_tokens`."""
