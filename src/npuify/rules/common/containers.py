"""How programs copy containers and put sets together."""

from __future__ import annotations

import ast
from typing import Final

COPIES: Final = frozenset("list tuple set frozenset sorted reversed".split())
"""Built-in functions that give a container of the same elements."""
OF_SETS: Final = (ast.Sub, ast.BitAnd, ast.BitOr, ast.BitXor)
"""Operators of two sets."""
