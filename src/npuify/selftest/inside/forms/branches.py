"""Programs whose conditions are turned, so that a branch is run that the stand-in machine would not take."""

from __future__ import annotations

import ast


def forced(tree: ast.Module, lines: set[int]) -> ast.Module:
    """``tree`` with every condition and every ``try`` such that it leads to the statements at ``lines``."""
    return ast.fix_missing_locations(_Forcer(lines).visit(tree))


class _Forcer(ast.NodeTransformer):
    def __init__(self, lines: set[int]) -> None:
        self.lines = lines

    def _leads(self, statements: list[ast.stmt]) -> bool:
        return any(s.lineno <= line <= (s.end_lineno or s.lineno) for s in statements for line in self.lines)

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        for branch, operator, value in ((node.body, ast.Or(), True), (node.orelse, ast.And(), False)):
            if self._leads(branch):
                node.test = ast.copy_location(ast.BoolOp(operator, [node.test, ast.Constant(value)]), node.test)
                break
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        handler = next((h for h in node.handlers if self._leads(h.body)), None)
        if handler is not None:
            kind = handler.type.elts[0] if isinstance(handler.type, ast.Tuple) else handler.type
            error = ast.Call(kind or ast.Name("RuntimeError", ast.Load()), [ast.Constant("made to fail")], [])
            node.body.append(ast.copy_location(ast.Raise(error, None), node.body[-1]))
        return node
