"""A parsed Python file: the nodes of interest with their scopes, and the qualified names of expressions.

The tree is never walked whole. A file is searched for words as bytes; only the statements and expressions that lie on
the lines found are visited, with their parents and scopes, and names are resolved through the bindings of just those
scopes that are asked for. So the cost of a file is close to that of parsing it.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from npuify.source.outline import Outline, Part
from npuify.source.parser_warnings import without_warnings
from npuify.source.scopes import ComprehensionNode, FunctionNode, Scope, ScopeNode
from npuify.source.text import Text, UnreadableText
from npuify.words import Words

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

_NAME_BYTES = frozenset(bytes([byte]) for byte in range(256) if byte == 95 or byte > 127 or chr(byte).isalnum())
_WALRUS = re.compile(rb":=")
_GLOBAL = re.compile(rb"global[ \t]+([\w \t,]+)")
_NAMING = (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr)
_MANY = 30
"""Names for which one search for all of them costs less than one for each."""
_MAX_HOPS = 24
"""How many assignments and re-exports a name is followed through."""


class PythonSource:
    """One Python file.

    Args:
        relative: path in the project, with forward slashes.
        module: its dotted module name in the project.
        raw: the file's bytes, or its text where that was made already.
        words: top-level functions and classes that hold none of them, in any case, are parsed only when something asks
            for them. None parses the whole file.

    Raises:
        UnreadableText: it cannot be decoded.
        SyntaxError: the running Python cannot parse it (``MemoryError`` and ``RecursionError`` are turned into this).
    """

    def __init__(self, relative: str, module: str, raw: bytes | Text, words: Words | None = None) -> None:
        self.relative = relative
        self.module = module
        self.text = raw if isinstance(raw, Text) else Text(raw)
        self.data = self.text.data
        self._outline = Outline(self.data)
        self._word_lines: dict[Words, dict[int, int]] = {}
        self._parsed_lines: Container[int] = ()
        """Lines that surely are in no part that was passed over."""
        self._skipped: list[Part] = []
        self.tree = self._parse_words(words) if words is not None else _parse(self.text.string)
        self.tree.is_package = relative.rpartition("/")[2] == "__init__.py"  # type: ignore[attr-defined]
        if self.tree.body or self._skipped:
            walrus = self._lines_with(_WALRUS) if b":=" in self.data else set()
            self.tree.walrus_lines = walrus  # type: ignore[attr-defined]
            self.tree.global_lines = self._global_lines()  # type: ignore[attr-defined]
        self.scope = Scope(self.tree, None, module)
        for part in self._skipped:
            if not part.owner:
                self.scope.hidden.setdefault(part.name, []).append("class" if part.is_class else "function")
        self.parents: dict[ast.AST, ast.AST] = {}
        self._rows: dict[ast.AST, ast.BinOp] = {}
        self._scopes: dict[ast.AST, Scope] = {self.tree: self.scope}
        self._around: dict[ast.AST, Scope] = {}
        self.inferred: dict[tuple[Scope, str], str | None] = {}
        """What :mod:`npuify.source.types` found out about names; kept here so that it is found out once."""
        self.inferred_attributes: dict[tuple[Scope, str], str | None] = {}
        self.self_assignments: dict[ast.ClassDef, dict[str, list[tuple[ast.AST, ast.expr | None]]]] = {}
        self._targets: dict[tuple[Scope, str], str | None] = {}
        self._names: dict[tuple[ast.AST, Scope], str | None] = {}
        self._own_names: dict[ast.AST | None, str | None] = {}
        self.reexport: Callable[[str], str | None] | None = None
        """Follows a qualified name that belongs to another module of the project; None where nothing is known."""
        self.star_has: Callable[[str], bool] | None = None
        """Whether a known library or a module of the project has a qualified name, for star imports."""
        self.class_named: Callable[[str], str | None] | None = None
        """The class of the project that a qualified name denotes, by the name of where it is defined."""

    # --- parsing only what is asked for ---------------------------------------------------------------------------

    def _parse_words(self, words: Words) -> ast.Module:
        lines = self._places_of(words)
        if words.words and not lines:
            return ast.Module([], [])
        cutter = self._outline
        parts = cutter.top_level()
        if not parts:
            return _parse(self.text.string)
        # A hit is known by its line's start; a part begins and ends at line starts.
        hits = sorted(lines.values())

        def passed_over(part: Part) -> Part | None:
            # What follows a part at its level stays, and what it declares global is seen.
            first = bisect_left(hits, part.start)
            hit = hits[first] if first < len(hits) else part.end
            if hit == part.start:
                return None
            body = cutter.body(part)
            return None if hit < body.end or cutter.has_global(body) else body

        skipped: list[Part] = []
        emptied = set()
        for part in parts:
            hidden = passed_over(part)
            if hidden is not None:
                skipped.append(hidden)
            elif part.is_class:
                methods = cutter.methods(part)
                hidden_methods = [body for body in map(passed_over, methods) if body is not None]
                skipped += hidden_methods
                if hidden_methods and len(hidden_methods) == len(methods):
                    emptied.add(hidden_methods[0].start)
        if not skipped:
            return _parse(self.text.string)
        data, pieces, position = self.data, [], 0
        for part in skipped:
            body = part.indent + b"pass" if part.start in emptied else b""
            pieces += [data[position : part.start], body, b"\n" * data.count(b"\n", part.start, part.end)]
            position = part.end
        pieces.append(data[position:])
        try:
            tree = _parse(b"".join(pieces).decode("utf-8", "surrogatepass"))
        except SyntaxError:
            # The file is broken, or what was cut is; the whole file decides.
            return _parse(self.text.string)
        self._skipped, self._parsed_lines = skipped, lines
        return tree

    def _parse_part(self, part: Part) -> None:
        line = self.text.line_of(part.start)
        text = self.data[part.start : part.end].decode("utf-8", "surrogatepass")
        self._skipped.remove(part)
        try:
            if not part.owner:
                statements = _parse("\n" * (line - 1) + text).body
                holder: ast.Module | ast.ClassDef | None = self.tree
            else:
                around = _parse("\n" * (line - 2) + "class _:\n" + text).body[0]
                statements = around.body if isinstance(around, ast.ClassDef) else []
                holder = self._class_at(line)
        except SyntaxError:
            return
        if holder is None:
            return
        place = next((index for index, item in enumerate(holder.body) if item.lineno > line), len(holder.body))
        holder.body[place:place] = statements
        if isinstance(holder, ast.ClassDef):
            last = statements[-1].end_lineno or line
            holder.end_lineno = max(holder.end_lineno or 0, last)
            self.self_assignments.pop(holder, None)
        else:
            self.scope.reveal(statements)

    def _class_at(self, line: int) -> ast.ClassDef | None:
        """The top-level class that a line belongs to, also where its last methods are still hidden."""
        before = [item for item in self.tree.body if item.lineno <= line]
        return before[-1] if before and isinstance(before[-1], ast.ClassDef) else None

    def has_method(self, node: ast.ClassDef, name: str) -> bool:
        """Whether a class defines a method of that name, also where it was passed over."""
        return any(isinstance(item, ast.FunctionDef) and item.name == name for item in node.body) or any(
            part.owner == node.name and part.name == name and not part.is_class for part in self._skipped
        )

    def methods_revealed(self, node: ast.ClassDef) -> None:
        """Parse the methods of a class that were passed over."""
        for part in [part for part in self._skipped if part.owner == node.name]:
            self._parse_part(part)

    def definition(self, name: str) -> ast.AST | None:
        """The only function or class that the module binds to ``name``, parsed if it was not yet; None for others."""
        bindings = self.scope.names.get(name, ())
        if len(bindings) == 1 and bindings[0].kind in ("function", "class"):
            if name in self.scope.hidden:
                for part in [part for part in self._skipped if part.name == name and not part.owner]:
                    self._parse_part(part)
                bindings = self.scope.names.get(name, ())
            return bindings[0].node if len(bindings) == 1 and isinstance(bindings[0].node, ScopeNode) else None
        return None

    # --- visiting -----------------------------------------------------------------------------------------------

    def _global_lines(self) -> set[int]:
        """The lines of ``global`` statements about names that are somewhere imported, or assigned something of torch.

        Only these can change what a name stands for; finding their functions means walking the tree.
        """
        if not self._outline.says_global:
            return set()
        data = self.data
        declared: dict[str, set[int]] = {}
        place = data.find(b"global")
        while place >= 0:
            before = data[data.rfind(b"\n", 0, place) + 1 : place].strip()
            # Else it is no statement, but the word.
            match = _GLOBAL.match(data, place) if not before or before[-1:] in b":;" else None
            if match is not None:
                line = self.text.line_of(place)
                for name in match.group(1).split(b","):
                    declared.setdefault(name.strip().decode(), set()).add(line)
            place = data.find(b"global", match.end() if match else place + 6)
        return {line for name, lines in declared.items() if name and self._is_bound_to_library(name) for line in lines}

    def _is_bound_to_library(self, name: str) -> bool:
        """Whether an identifier stands on a line that imports something, or that speaks of torch."""
        starts = self.text.line_starts
        for number in self.lines_with_names((name,)):
            line = self.data[starts[number - 1] : starts[number] if number < len(starts) else None]
            if b"import" in line or b"torch" in line:
                return True
        return False

    def _lines_with(self, pattern: re.Pattern[bytes]) -> set[int]:
        line_of = self.text.line_of
        return {line_of(match.start()) for match in pattern.finditer(self.data)}

    def lines_with_names(self, names: Iterable[str]) -> set[int]:
        """The lines, from 1, on which one of these identifiers stands."""
        data, line_of, starts = self.data, self.text.line_of, self.text.line_starts
        lines: set[int] = set()
        wanted = set(names)
        if len(wanted) > _MANY:
            # A file that binds thousands of names would else be searched thousands of times.
            for place, end in Words(name.encode() for name in wanted).places(data):
                if data[end : end + 1] not in _NAME_BYTES and data[place - 1 : place] not in _NAME_BYTES:
                    lines.add(line_of(place))
            return lines
        for name in wanted:
            word = name.encode()
            place = data.find(word)
            while place >= 0:
                end = place + len(word)
                if data[end : end + 1] not in _NAME_BYTES and data[place - 1 : place] not in _NAME_BYTES:
                    line = line_of(place)
                    lines.add(line)
                    if line >= len(starts):
                        break
                    end = starts[line]
                place = data.find(word, end)
        return lines

    def lines_with_words(self, words: Words) -> set[int]:
        """The lines, from 1, that hold one of the words in any case, comments and prose left out."""
        return set(self._places_of(words))

    def _places_of(self, words: Words) -> dict[int, int]:
        """The lines that hold one of the words, as :meth:`lines_with_words` says, each with the offset of its start."""
        known = self._word_lines.get(words)
        if known is not None:
            return known
        data, is_text = self.data, self._outline.is_text
        found: dict[int, int] = {}
        # Most files hold few such words, so that counting lines up to them costs less than a table of all lines.
        counts = b"\r" not in data
        line, low, high = 1, 0, 0
        for start, _ in words.places(self.text.lower):
            if low <= start < high or is_text(start):
                continue
            if counts:
                begin = data.rfind(b"\n", 0, start) + 1
                line += data.count(b"\n", low, begin)
                high = data.find(b"\n", start) + 1 or len(data)
                low = begin
            else:
                starts = self.text.line_starts
                line = bisect_right(starts, start)
                low, high = starts[line - 1], starts[line] if line < len(starts) else len(data)
            found[line] = low
        self._word_lines[words] = found
        return found

    def visit(self, lines: Iterable[int], wanted: Callable[[ast.AST], None]) -> None:
        """Call ``wanted`` for every node that covers one of ``lines``, outer nodes first, in source order.

        Parents and scopes of the visited nodes are known from then on.
        """
        ordered = sorted(set(lines))
        if not ordered:
            return
        if self._skipped and not all(line in self._parsed_lines for line in ordered):
            for part in list(self._skipped):
                top, bottom = self.text.line_of(part.start), self.text.line_of(part.end - 1)
                if bisect_left(ordered, top) < bisect_right(ordered, bottom):
                    self._parse_part(part)
        parents, scopes, around, module_scope = self.parents, self._scopes, self._around, self.scope
        fields_of = _CHILD_FIELDS
        stack: list[tuple[ast.AST, Scope, int, int]] = [(self.tree, module_scope, 0, len(ordered))]
        while stack:
            node, scope, low, high = stack.pop()
            wanted(node)
            pending = []
            for child, child_scope in (
                self._children_of(node, scope)
                if node.__class__ in _SCOPED
                else [(child, scope) for child in _plain_children(node, fields_of[node.__class__])]
            ):
                line: int | None = child.__dict__.get("lineno")
                if line is None:
                    begin, end = low, high
                else:
                    last: int = child.end_lineno  # type: ignore[attr-defined]
                    if child.__class__ in _DECORATED and child.decorator_list:  # type: ignore[attr-defined]
                        line = min(line, child.decorator_list[0].lineno)  # type: ignore[attr-defined]
                    if high - low == 1:
                        if not line <= ordered[low] <= last:
                            continue
                        begin, end = low, high
                    else:
                        begin = bisect_left(ordered, line, low, high)
                        end = bisect_right(ordered, last, begin, high)
                        if begin == end:
                            continue
                parents[child] = node
                if child.__class__ in _OPENING:
                    around[child] = child_scope
                elif child_scope is not module_scope:
                    scopes[child] = child_scope
                pending.append((child, child_scope, begin, end))
            pending.reverse()
            stack += pending

    def _children_of(self, node: ast.AST, scope: Scope) -> Iterable[tuple[ast.AST, Scope]]:
        """The child nodes of what opens a scope, or of a comprehension, with the scope that each is evaluated in."""
        inner = scope
        if not isinstance(node, ast.comprehension) and node is not self.tree:
            known = self._scopes.get(node)
            if known is None:
                known = self._scopes[node] = Scope(node, scope, self.module)
            inner = known
        return _children(node, scope, inner)

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which ``node`` is evaluated. The node must have been visited."""
        if isinstance(node, ScopeNode):
            return self._around.get(node, self.scope)
        return self._scopes.get(node, self.scope)

    def inner_scope(self, node: ast.AST) -> Scope:
        """The scope that ``node``, a function, class, lambda or comprehension, opens."""
        scope = self._scopes.get(node)
        if scope is None or scope.node is not node:
            scope = self._scopes[node] = Scope(node, self.scope_of(node), self.module)
        return scope

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around ``node``, from the nearest to the module.

        Of a row of one operator, ``a + b + c + …``, only the first and the last are given, so that a row of thousands
        is not walked for each of its operands.
        """
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            if type(parent) is ast.BinOp:
                top = self._last_of_row(parent)
                if top is not parent:
                    parent = top
                    yield parent
            parent = self.parents.get(parent)

    def _last_of_row(self, node: ast.BinOp) -> ast.BinOp:
        """The outermost of the operations with the same operator around ``node``."""
        row = [node]
        kind = type(node.op)
        while True:
            known = self._rows.get(row[-1])
            if known is not None:
                top = known
                break
            above = self.parents.get(row[-1])
            if above is None:
                return row[-1]  # not visited yet, so its parent may be learnt later
            if type(above) is not ast.BinOp or type(above.op) is not kind:
                top = row[-1]
                break
            row.append(above)
        for item in row:
            self._rows[item] = top
        return top

    # --- places -------------------------------------------------------------------------------------------------

    def start(self, node: ast.AST) -> int:
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        start: int = self.text.line_starts[line - 1] + column
        return start

    def end(self, node: ast.AST) -> int:
        line, column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        start: int = self.text.line_starts[line - 1] + column
        return start

    def segment(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")

    def code(self, node: ast.AST) -> str:
        """The source text of a node."""
        return self.segment(self.start(node), self.end(node))

    def attribute_span(self, node: ast.Attribute) -> tuple[int, int] | None:
        """Where the attribute's own name stands (``cuda`` of ``torch.cuda``), or None where it cannot be found.

        Inside f-strings Python before 3.12 gives positions that may be wrong; there the text is searched.
        """
        word = node.attr.encode()
        end = self.end(node)
        if self.data[end - len(word) : end] == word and not self._in_string(node):
            return end - len(word), end
        return self._search_string(node)

    def _in_string(self, node: ast.AST) -> bool:
        import sys

        return sys.version_info < (3, 12) and any(isinstance(up, ast.JoinedStr) for up in self.ancestors(node))

    def _search_string(self, node: ast.Attribute) -> tuple[int, int] | None:
        outer = None
        for up in self.ancestors(node):
            if isinstance(up, ast.JoinedStr):
                outer = up
        if outer is None:
            return None
        begin, end = self.start(outer), self.end(outer)
        text = self.data[begin:end]
        fields = _replacement_fields(text)
        word = re.compile(rb"\.[ \t]*" + re.escape(node.attr.encode()) + rb"(?!\w)")
        places = [match.end() for match in word.finditer(text) if fields[match.start()]]
        namesakes = [other for other in _attributes_in_order(outer) if other.attr == node.attr]
        if len(places) == len(namesakes):
            stop = begin + places[next(index for index, other in enumerate(namesakes) if other is node)]
            return stop - len(node.attr.encode()), stop
        dotted = dotted_text(node)
        if dotted is None:
            return None
        pattern = re.compile(rb"(?<![\w.])" + re.escape(dotted.encode()) + rb"(?!\w)")
        found = [match for match in pattern.finditer(text) if fields[match.start()]]
        same = sorted(
            (other for other in ast.walk(outer) if isinstance(other, ast.Attribute) and dotted_text(other) == dotted),
            key=lambda other: (other.lineno, other.col_offset),
        )
        if len(found) != len(same):
            return None
        match = found[next(index for index, other in enumerate(same) if other is node)]
        stop = begin + match.end()
        return stop - len(node.attr.encode()), stop

    # --- names --------------------------------------------------------------------------------------------------

    def qualname(self, node: ast.AST | None, scope: Scope | None = None) -> str | None:
        """The dotted name of the thing that an expression denotes (``torch.cuda.Event``), or None.

        Follows imports, aliases, simple assignments, ``getattr`` with a literal name, and re-exports of the project's
        own modules. None also where bindings disagree.
        """
        if scope is None:
            try:
                return self._own_names[node]
            except KeyError:
                if not isinstance(node, _NAMING):
                    return None
                name = self._qualname(node, self.scope_of(node), _MAX_HOPS)
                if node in self.parents:
                    # Else its scope is not known for certain yet.
                    self._own_names[node] = name
                return name
        if not isinstance(node, _NAMING):
            return None
        key = (node, scope)
        try:
            return self._names[key]
        except KeyError:
            name = self._names[key] = self._qualname(node, scope, _MAX_HOPS)
            return name

    def _qualname(self, node: ast.AST, scope: Scope, hops: int) -> str | None:
        if hops <= 0:
            return None
        if isinstance(node, ast.Name):
            return self.name_target(node.id, scope, hops)
        if isinstance(node, ast.Attribute):
            base = self._qualname(node.value, scope, hops - 1)
            return self._follow(f"{base}.{node.attr}") if base else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            if len(node.args) >= 2 and scope.lookup("getattr") is None:
                name = node.args[1]
                base = self._qualname(node.args[0], scope, hops - 1)
                if base and isinstance(name, ast.Constant) and isinstance(name.value, str):
                    return self._follow(f"{base}.{name.value}")
            return None
        if isinstance(node, ast.NamedExpr):
            return self._qualname(node.value, scope, hops - 1)
        return None

    def name_target(self, name: str, scope: Scope, hops: int = _MAX_HOPS) -> str | None:
        """The qualified name that ``name`` stands for in ``scope``, or None."""
        key = (scope, name)
        if key not in self._targets:
            self._targets[key] = self._name_target(name, scope, hops)
        return self._targets[key]

    def _name_target(self, name: str, scope: Scope, hops: int) -> str | None:
        found = scope.lookup(name)
        if found is None:
            module = scope.module
            _ = module.names
            for star in module.star_imports:
                qualified = f"{star}.{name}"
                if self.star_has is not None and self.star_has(qualified):
                    return self._follow(qualified)
            if name == "torch" and module.star_imports:
                return "torch"  # bound nowhere here, so it comes with one of the star imports
            return None
        owner, bindings = found
        targets: set[str | None] = set()
        for binding in bindings:
            if binding.kind == "import":
                targets.add(self._follow(binding.target))
            elif binding.kind == "assign" and binding.value is not None:
                if isinstance(binding.value, ast.Constant) and binding.value.value is None:
                    continue
                targets.add(self._qualname(binding.value, owner, hops - 1))
            elif binding.kind in ("class", "function") and self.module and owner.parent is None:
                targets.add(f"{self.module}.{name}")
            else:
                return None
        return targets.pop() if len(targets) == 1 else None

    def _follow(self, qualified: str) -> str:
        if self.reexport is not None:
            return self.reexport(qualified) or qualified
        return qualified

    def is_builtin(self, name: str, scope: Scope) -> bool:
        """Whether ``name`` is not bound by the file, so that it can only be the builtin."""
        return scope.lookup(name) is None


def dotted_text(node: ast.AST) -> str | None:
    """``torch.cuda.Event`` for such a chain of plain names, None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def _attributes_in_order(node: ast.AST) -> list[ast.Attribute]:
    """The attributes in an expression, in the order in which their names stand in the text."""
    if isinstance(node, ast.IfExp):
        children: Iterable[ast.AST] = (node.body, node.test, node.orelse)
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        children = [child for pair in pairs for child in pair if child is not None]
    else:
        children = ast.iter_child_nodes(node)
    found = [attribute for child in children for attribute in _attributes_in_order(child)]
    return [*found, node] if isinstance(node, ast.Attribute) else found


def _replacement_fields(literal: bytes) -> list[bool]:
    """For each byte of an f-string's source, whether it stands inside braces."""
    inside, depth, index = [False] * len(literal), 0, 0
    while index < len(literal):
        byte = literal[index : index + 1]
        if byte == b"{" and depth == 0 and literal[index + 1 : index + 2] == b"{":
            index += 2
            continue
        if byte == b"{":
            depth += 1
        elif byte == b"}" and depth:
            depth -= 1
        inside[index] = depth > 0
        index += 1
    return inside


def parses(data: bytes) -> bool:
    """Whether UTF-8 text is Python that the running Python can parse."""
    with without_warnings():
        try:
            ast.parse(data.decode("utf-8", "surrogatepass"))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return False
    return True


def _parse(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:
        raise
    except (ValueError, UnicodeError) as error:
        raise SyntaxError(str(error)) from None
    except (MemoryError, RecursionError):
        raise SyntaxError("nested too deeply for the Python parser") from None


_NO_CHILDREN = frozenset(
    "ctx op ops id attr arg kind name asname type_comment level module simple is_async conversion rest kwd_attrs "
    "type_ignores str tag".split()
)
"""Fields that hold names, contexts, operators and numbers, of which no rule needs to know."""
_CHILDLESS = (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton)
"""Nodes whose other fields hold no nodes either."""
_OPENING = frozenset(ScopeNode)
_SCOPED = _OPENING | {ast.comprehension}
_DECORATED = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


class _ChildFields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node that hold nodes, or lists of nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = () if kind in _CHILDLESS else tuple(name for name in kind._fields if name not in _NO_CHILDREN)
        self[kind] = fields
        return fields


_CHILD_FIELDS = _ChildFields()


def _plain_children(node: ast.AST, fields: tuple[str, ...]) -> list[ast.AST]:
    children: list[ast.AST] = []
    held = node.__dict__
    for name in fields:
        value = held.get(name)
        if value is None:
            continue
        if value.__class__ is list:
            # The keys of {**other} and defaults that are not there are None.
            children += value if None not in value else [item for item in value if item is not None]
        else:
            children.append(value)
    return children


def _children(node: ast.AST, outer: Scope, inner: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """The child nodes with the scope that each is evaluated in."""
    kind = type(node)
    fields = _CHILD_FIELDS[kind]
    if outer is inner:
        around = outer.node
        if kind is ast.comprehension and isinstance(around, ComprehensionNode) and around.generators[0] is node:
            # The first iterable is evaluated outside the comprehension.
            yield node.iter, outer.parent or outer
            fields = tuple(name for name in fields if name != "iter")
        for child in _plain_children(node, fields):
            yield child, inner
        return
    if isinstance(node, FunctionNode):
        outside: set[int] = {id(item) for item in getattr(node, "decorator_list", ())}
        returns = getattr(node, "returns", None)
        if returns is not None:
            outside.add(id(returns))
        # Annotations and defaults are evaluated outside; inside the `arguments` node they cannot be told apart by
        # field, so the node itself counts as outside and its `arg` children hold no names of their own.
        outside.add(id(node.args))
    elif isinstance(node, ComprehensionNode):
        outside = {id(node.generators[0].iter)}
    else:
        outside = {id(item) for item in (*node.decorator_list, *node.bases, *node.keywords)}  # type: ignore[attr-defined]
    for child in _plain_children(node, fields):
        yield child, outer if id(child) in outside else inner


__all__ = ["PythonSource", "UnreadableText", "dotted_text", "parses"]
