"""A parsed Python file: the nodes of interest with their scopes, and the qualified names of expressions.

The tree is never walked whole. A file is searched for words as bytes; only the statements and expressions that lie on
the lines found are visited, with their parents and scopes, and names are resolved through the bindings of just those
scopes that are asked for. So the cost of a file is close to that of parsing it.

``PythonSource`` is made of layers, each a class that builds on the one before: ``module`` parses what is asked for,
``nodes`` visits it, ``names`` says what names stand for, ``source`` where in the text nodes stand.
"""

from npuify.source.python.children import walk
from npuify.source.python.names import dotted_text
from npuify.source.python.parse import STANDS_FOR_ASYNC, parses
from npuify.source.python.source import PythonSource

__all__ = ["STANDS_FOR_ASYNC", "PythonSource", "dotted_text", "parses", "walk"]
