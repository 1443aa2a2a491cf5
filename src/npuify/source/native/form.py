"""The form of a function in C++ or CUDA: equal for two functions that differ only in what does not touch their results.

Comments, line breaks, the names of variables, checks of arguments, error handling, streams and the numbers of threads
are left out. What stays is operations, constants, types and the order of everything. A form is a digest with *holes*:
the names of what else the function needs, in the order in which they appear, which are filled with the forms of those.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.source.native.alike import after_brackets, dispatched, extents, kernel_before, without_braces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)'
    r"[uUlLfF]*|<<<|>>>|->|::|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|\S"
)
_UNSEEN: Final = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.DOTALL | re.MULTILINE)
_CONDITION: Final = re.compile(
    r"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b((?:[^\n\\]|\\.|\\\n)*)", re.DOTALL | re.MULTILINE
)
"""What the preprocessor decides, which is a part of the form."""
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WITHOUT_MEANING: Final = frozenset(
    "const __restrict__ __restrict inline static __forceinline__ __inline__ __host__ __device__ __global__ extern "
    "torch at c10 std constexpr volatile".split()
)
_CHECKS: Final = re.compile(
    r"(?:(?:STD_)?TORCH_(?:CHECK|INTERNAL_ASSERT)|AT_(?:CHECK|ASSERTM?|ERROR|CUDA_CHECK)|CHECK(?:_\w+)?|C10_CUDA\w*CHECK|"
    r"CUDA_CHECK\w*|THCudaCheck|cudaGetDevice|cudaSetDevice|cudaDeviceSynchronize|printf|fprintf|__syncwarp|assert)"
)
"""Macros and functions that stop a program, tell something or wait, and compute nothing."""
_IN_CHECKS: Final = frozenset(
    "if while do for sizeof defined exit throw runtime_error fprintf printf cudaGetErrorString cudaGetLastError "
    "get_str cudaPeekAtLastError cudaDeviceSynchronize abort error value_error AT_ERROR TORCH_ERROR is_same "
    "static_cast string to_string str is_cuda TypedTensor ifdef ifndef else endif elif ScalarType is_contiguous".split()
)
"""What checks may call."""
_LAUNCH_TYPES: Final = frozenset(
    "dim3 cudaStream_t cudaError_t OptionalCUDAGuard CUDAGuard DeviceGuard OptionalDeviceGuard".split()
)
"""Types of what says where and how wide a kernel runs, and whether it failed."""
_GETTERS: Final = frozenset(
    "getCurrentCUDAStream THCState_getCurrentStream cudaGetLastError cudaPeekAtLastError".split()
)
_OF_GETTERS: Final = _GETTERS | frozenset("at c10 torch cuda :: ( ) ; . stream state".split())
"""All that may stand in a value which is a stream or an error and nothing else."""
_SAME: Final = {"data_ptr": "data", "type": "scalar_type", "DeprecatedTypeProperties": "ScalarType", "NULL": "nullptr"}
"""Old and new names of one thing."""
_TYPES: Final = frozenset(
    "void bool char short int long float double unsigned signed auto size_t int8_t uint8_t int16_t int32_t int64_t "
    "uint32_t uint64_t half Tensor IntArrayRef string vector tuple".split()
)
_WORDS: Final = frozenset(
    "if else for while do switch case default break continue return sizeof true false nullptr template typename class "
    "struct using typedef static_cast reinterpret_cast const_cast this new delete operator threadIdx blockIdx blockDim "
    "gridDim warpSize __shared__ __syncthreads".split()
)
_OPEN_LAUNCH: Final = re.compile(r"<<[ \t]+<|<[ \t]+<<")
_END_LAUNCH: Final = re.compile(r"(?:>>[ \t]+>|>[ \t]+>>)(?=\s*\()")
_LAUNCHED: Final = re.compile(
    r"(\w+)\s*(?:<[^;{}()]*>)?\s*<<<|=\s*&\s*(?:\w+::)*(\w+)\s*<[^;{}()]*>\s*;|\b(\w+_kernel|kernel_\w+)\s*<"
)
"""Kernels that are launched, and those that are launched through a variable."""
_TAKES_MESSAGES: Final = re.compile(
    r"[A-Z][A-Z0-9_]+|f?printf|runtime_error|invalid_argument|value_error|error|warn\w*|exit|assert|static_assert"
)
"""Macros and functions of which a text is the name of what runs, or what is said where it fails."""
_IS_CUDA: Final = re.compile(r" (?:type|device) \( \) \. is_cuda\b")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


class Form(NamedTuple):
    """What a function does, apart from what it calls."""

    digest: str
    """Of its tokens, with a mark at each hole."""
    holes: tuple[str, ...]
    """The names that stand at the marks, as often as they do."""
    launched: tuple[str, ...] = ()
    """The kernels that it launches."""
    qualified: tuple[str, ...] = ()
    """The names behind ``::``: where the project defines such a function, its code belongs to the form."""
    checks: tuple[str, ...] = ()
    """The checks that are left out: where the project defines one itself, it has to be read."""
    own: frozenset[str] = frozenset()
    """Its variables and the members that it names: a macro may be called the same."""
    launches: tuple[tuple[str, ...], ...] = ()
    """What is left out because it says how wide kernels run: a statement, or a kernel with what is launched of it."""


def form_of(text: str, *, keep_names: bool = False) -> Form:
    """The form of a function, macro or type.

    Args:
        text: its head, from the brackets with the parameters on, and its body.
        keep_names: names of variables count. For types, whose members others call by their names.
    """
    checks: list[str] = []
    launches: list[list[str]] = []
    kept = list(without_braces(list(dispatched(list(_kept(tokens_of(text), checks, launches))))))
    tokens = _IS_CUDA.sub(" is_cuda", " ".join(kept)).split()
    members: set[str] = set()
    types: set[str] = set()
    names: dict[str, str] = {}
    holes: list[str] = []
    qualified: list[str] = []
    out: list[str] = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else ""
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        if not (token[0].isalpha() or token[0] == "_"):
            out.append(_number(token) if token[0].isdigit() or token[0] == "." else token)
        elif token in _TYPES or token in _WORDS or before in (".", "->"):
            out.append(_SAME.get(token, token))
            members.add(token)
        elif token in names:
            out.append(names[token])
        elif after == "::" or before == "::":
            out.append(_SAME.get(token, token))
            if before == "::":
                qualified.append(token)
        elif not keep_names and _declares(tokens, at, types):
            if before in ("typename", "class"):
                types.add(token)
            names[token] = f"v{len(names)}"
            out.append(names[token])
        else:
            # What it calls, and what is defined outside it: macros, constants, functions.
            holes.append(token)
            out.append("@")
    digest = blake2b(" ".join(out).encode(), digest_size=8).hexdigest()
    own = frozenset(names) | members
    wide = tuple(tuple(names.get(token, token) for token in words) for words in launches)
    return Form(digest, tuple(holes), _launched(joined_launches(text)), tuple(qualified), tuple(checks), own, wide)


def redefinable(own: frozenset[str]) -> frozenset[str]:
    """Words of the language and of CUDA, which a macro should not be called, beside the names of a form itself."""
    return own | _TYPES | _WORDS | _WITHOUT_MEANING


def computes(macro: str) -> bool:
    """Whether a macro called like a check does more than to check: an assignment, a call of something else."""
    tokens = tokens_of(macro)
    if _changes(tokens):
        return True
    called = [one for at, one in enumerate(tokens) if tokens[at + 1 : at + 2] == ["("] and _NAME.fullmatch(one)]
    methods = {one for at, one in enumerate(tokens) if at and tokens[at - 1] in (".", "->")}
    return any(not _CHECKS.fullmatch(one) and one not in _IN_CHECKS and one not in methods for one in called)


def joined_launches(text: str) -> str:
    """Code in which the brackets of launches stand together: some write ``kernel << <blocks, threads >> > (…)``."""
    return _OPEN_LAUNCH.sub("<<<", _END_LAUNCH.sub(">>>", text)) if _OPEN_LAUNCH.search(text) else text


def _launched(text: str) -> tuple[str, ...]:
    return tuple("".join(found) for found in _LAUNCHED.findall(text))


def filled(digest: str, forms: Sequence[str]) -> str:
    """A form with its holes filled."""
    return blake2b("|".join((digest, *forms)).encode(), digest_size=8).hexdigest()


def tokens_of(text: str) -> list[str]:
    """The tokens of code, without comments; what the preprocessor decides is among them."""
    text = _CONDITION.sub(r" ;%%\1 (\2 );", _COMMENT.sub(" ", text)) if "#" in text else text
    return _TOKEN.findall(joined_launches(_UNSEEN.sub(" ", text)))


def _number(token: str) -> str:
    """Without the mark of a float: 1.0f and 1.0 differ in their type only."""
    plain = token.rstrip("fFuUlL") if not token.lower().startswith("0x") else token
    if "." in plain and "e" not in plain.lower():
        plain = plain.rstrip("0") + ("0" if plain.rstrip("0").endswith(".") else "")
    return plain


def _declares(tokens: Sequence[str], at: int, types: set[str]) -> bool:
    """Whether a name seen for the first time is declared there: a type stands before it, and no call follows.

    ``types`` are the template's own.

    When in doubt it is not: then its name counts, and a function with other names has another form.
    """
    before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
    if before in ("typename", "class") or (before == "..." and at > 1 and tokens[at - 2] in ("typename", "class")):
        return True
    if after == "<<<" or (after == "(" and before not in _TYPES):
        return False
    while before in ("*", "&"):
        at -= 1
        before = tokens[at - 1] if at else ""
        if before not in ("*", "&"):
            return before in _TYPES or before.endswith("_t") or before in types
    if before == ">":
        return _closes_type(tokens, at - 1)
    return before in _TYPES or bool(_NAME.fullmatch(before) and before not in _WORDS)


def _closes_type(tokens: Sequence[str], at: int) -> bool:
    """Whether the bracket at ``at`` ends a type such as ``vector<Tensor>``, and compares nothing."""
    for back in range(at - 1, max(0, at - 20), -1):
        if tokens[back] == "<":
            name = tokens[back - 1]
            return name in _TYPES or name.endswith("_t") or "Accessor" in name
        if tokens[back] not in (",", "::", ">") and not tokens[back][0].isalnum():
            return False
    return False


def _kept(tokens: Sequence[str], checks: list[str], launches: list[list[str]]) -> Iterator[str]:
    """The tokens without those that do not touch the results; messages are empty texts.

    Args:
        tokens: those of the text.
        checks: the checks that are left out are put here.
        launches: what says how wide kernels run is put here.
    """
    streams: set[str] = set()
    callers: list[str] = []
    at, start_of_statement, failing, inside = 0, True, False, False
    while at < len(tokens):
        token = tokens[at]
        if start_of_statement and _CHECKS.fullmatch(token) and tokens[at + 1 : at + 2] == ["("]:
            behind = after_brackets(tokens, at + 1)
            if not _changes(tokens[at + 2 : behind - 1]):
                checks.append(token)
                at = behind
                while tokens[at : at + 1] == [";"]:
                    at += 1
                continue
        if start_of_statement:
            end = _statement_end(tokens, at)
            words = tokens[at:end]
            if _is_of_launch(words):
                streams.update(_declared_streams(words))
                if "dim3" in words:
                    launches.append(list(words))
                yield from extents(words)
                at = end
                continue
            if token == "if" and "cudaSuccess" in tokens[at : after_brackets(tokens, at + 1)]:
                at = _after_block(tokens, after_brackets(tokens, at + 1))
                continue
        if token == "<<<":
            end = at
            while end < len(tokens) and tokens[end] != ">>>":
                end += 1
            yield from extents(tokens[at:end])
            launches.append([kernel_before(tokens, at), "<<<", *tokens[at + 1 : end]])
            at = end + 1
            continue
        if token == "," and tokens[at + 1 : at + 2] == ["cudaStream_t"] and at + 2 < len(tokens):
            streams.add(tokens[at + 2])
            at += 3
            continue
        if token == "," and at + 2 < len(tokens) and tokens[at + 1] in streams and tokens[at + 2] in (")", ","):
            at += 2
            continue
        start_of_statement = token in (";", "{", "}")
        inside = inside or token == "{"
        if token == "(":
            callers.append(tokens[at - 1] if at else "")
        elif token == ")":
            del callers[-1:]
        failing = token == "throw" or (failing and not start_of_statement)
        if token == "static" and inside and _is_kept_between_calls(tokens, at):
            yield token
        elif token not in _WITHOUT_MEANING and not (token == "::" and tokens[at - 1] in _WITHOUT_MEANING):
            is_message = failing or tokens[at - 1] == "<<" or any(_TAKES_MESSAGES.fullmatch(one) for one in callers)
            yield '""' if token[0] == '"' and is_message else "_".join(token.split()) if token[0] == '"' else token
        at += 1


def _changes(given: Sequence[str]) -> bool:
    """Whether what a check is given changes anything: an assignment, or a method that writes into its tensor."""
    for at, word in enumerate(given):
        if word in ("=", "++", "--", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%=") and given[at - 1] != "[":
            return True
        if word.endswith("_") and word[0] != "_" and given[at + 1 : at + 2] == ["("]:
            return True
    return False


def _is_kept_between_calls(tokens: Sequence[str], at: int) -> bool:
    """Whether ``static`` there makes a variable that keeps its value."""
    around = {*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2]}
    return around.isdisjoint(("const", "constexpr", "inline", "__device__", "__forceinline__", "__host__"))


def _is_of_launch(words: Sequence[str]) -> bool:
    """Whether a statement only says where and how wide a kernel runs, or asks whether it failed.

    A call that is given a stream among other things is none: it computes.
    """
    if not words or words[-1] != ";" or "<<<" in words:
        return False
    at = 0
    while at < len(words) - 1 and words[at] in ("const", "at", "c10", "cuda", "torch", "::"):
        at += 1
    if words[at] in _LAUNCH_TYPES:
        return True
    equals = words.index("=") if "=" in words else -1
    rest = words[equals + 1 :]
    if equals > 3 or _GETTERS.isdisjoint(rest):
        return False
    return all(word in _OF_GETTERS or (equals > 0 and word in ("curDevice", "device")) for word in rest)


def _declared_streams(words: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        if word == "=" and at and re.fullmatch(r"[A-Za-z_]\w*", words[at - 1]):
            if "Stream" in "".join(words):
                yield words[at - 1]
            return


def _statement_end(tokens: Sequence[str], at: int) -> int:
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token, 0)
        at += 1
        if depth < 0 or (depth == 0 and token in (";", "{", "}")):
            break
    return at


def _after_block(tokens: Sequence[str], at: int) -> int:
    """Behind the statement or block that begins at ``at``."""
    if tokens[at : at + 1] != ["{"]:
        return _statement_end(tokens, at)
    depth = 0
    while at < len(tokens):
        depth += {"{": 1, "}": -1}.get(tokens[at], 0)
        at += 1
        if not depth:
            break
    return at
