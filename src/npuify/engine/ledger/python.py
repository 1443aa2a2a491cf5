"""Why places of a Python file need nothing: its text tells most of it, the program model the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.engine.ledger.answer import Unknown
from npuify.engine.ledger.identifiers import cuda_identifiers
from npuify.engine.ledger.lexical import Lexical
from npuify.engine.ledger.syntax import Syntax
from npuify.engine.parsing import parse_file
from npuify.rules.context import PythonFile
from npuify.source.parser_warnings import without_warnings
from npuify.words import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.engine.ledger.answer import Cleared
    from npuify.engine.ledger.vocabulary import Occurrence
    from npuify.rules.run import Run
    from npuify.source.text import Text


def clear_python(
    relative: str, text: Text, places: Sequence[Occurrence], file: PythonFile | None, run: Run
) -> list[Cleared | Unknown]:
    """What can be said of places of a Python file that no finding speaks of.

    Args:
        relative, text: the file.
        places: those asked about.
        file: as the rules saw it; None where they did not.
        run: what the run is about.

    What of a file that does not parse the text alone does not tell is not known.
    """
    api = cuda_identifiers(run.release)
    lexical = Lexical(text.data, api, file.source.outline if file is not None else None)
    told = [lexical.cleared(place) for place in places]
    rest = [place for place, answer in zip(places, told, strict=True) if answer is None]
    if not rest:
        return [answer or Unknown() for answer in told]
    with without_warnings():
        try:
            if file is None or not file.source.tree.body:
                # Of a file without a word of the rules nothing was parsed; what holds the places is when asked for.
                file = PythonFile(parse_file(relative, text, run, words_of()), run)
        except SyntaxError:
            return [answer or Unknown() for answer in told]
        syntax = Syntax(file, rest, api)
        return [answer or _by_syntax(place, syntax) for place, answer in zip(places, told, strict=True)]


def _by_syntax(place: Occurrence, syntax: Syntax) -> Cleared | Unknown:
    node = syntax.node_at(place)
    if node is None:
        return Unknown()
    return syntax.cleared(place, node) or Unknown(node, syntax.package_of(node))
