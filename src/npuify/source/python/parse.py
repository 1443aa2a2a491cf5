"""Python's own parser, with one kind of failure."""

from __future__ import annotations

import ast

from npuify.source.parser_warnings import without_warnings


def parse(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        SyntaxError: the running Python cannot parse it, for whatever reason.
    """
    try:
        return ast.parse(text)
    except SyntaxError:
        raise
    except (ValueError, UnicodeError) as error:
        raise SyntaxError(str(error)) from None
    except (MemoryError, RecursionError):
        raise SyntaxError("nested too deeply for the Python parser") from None


def parses(data: bytes) -> bool:
    """Whether UTF-8 text is Python that the running Python can parse."""
    with without_warnings():
        try:
            ast.parse(data.decode("utf-8", "surrogatepass"))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return False
    return True
