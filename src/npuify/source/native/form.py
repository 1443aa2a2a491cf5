"""The form of a function in C++ or CUDA: equal for two functions that differ only in what does not touch their results.

Comments, line breaks, the names of variables, checks of arguments, error handling, streams and the numbers of threads
are left out. What stays is operations, constants, types and the order of everything. A form is a digest with *holes*:
the names of what else the function needs, in the order in which they appear, which are filled with the forms of those.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)'
    r"[uUlLfF]*|<<<|>>>|->|::|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|\S"
)
_UNSEEN: Final = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.DOTALL | re.MULTILINE)
_WITHOUT_MEANING: Final = frozenset(
    "const __restrict__ __restrict inline static __forceinline__ __inline__ __host__ __device__ __global__ extern "
    "torch at c10 std constexpr volatile".split()
)
_CHECKS: Final = re.compile(
    r"(?:(?:STD_)?TORCH_(?:CHECK|INTERNAL_ASSERT)|AT_(?:CHECK|ASSERTM?|ERROR|CUDA_CHECK)|CHECK(?:_\w+)?|C10_CUDA\w*CHECK|"
    r"CUDA_CHECK\w*|THCudaCheck|cudaGetDevice|cudaSetDevice|cudaDeviceSynchronize|printf|fprintf|__syncwarp|assert)"
)
"""Macros and functions that stop a program, tell something or wait, and compute nothing."""
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


def form_of(text: str, *, keep_names: bool = False) -> Form:
    """The form of a function, macro or type.

    Args:
        text: its head, from the brackets with the parameters on, and its body.
        keep_names: names of variables count. For types, whose members others call by their names.
    """
    tokens = _IS_CUDA.sub(" is_cuda", " ".join(_kept(_tokens(text)))).split()
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
        elif token in names:
            out.append(names[token])
        elif after == "::" or before == "::":
            out.append(_SAME.get(token, token))
            if before == "::":
                qualified.append(token)
        elif not keep_names and _declares(tokens, at):
            names[token] = f"v{len(names)}"
            out.append(names[token])
        else:
            # What it calls, and what is defined outside it: macros, constants, functions.
            holes.append(token)
            out.append("@")
    digest = blake2b(" ".join(out).encode(), digest_size=8).hexdigest()
    return Form(digest, tuple(holes), _launched(joined_launches(text)), tuple(qualified))


def joined_launches(text: str) -> str:
    """Code in which the brackets of launches stand together: some write ``kernel << <blocks, threads >> > (…)``."""
    return _OPEN_LAUNCH.sub("<<<", _END_LAUNCH.sub(">>>", text)) if _OPEN_LAUNCH.search(text) else text


def _launched(text: str) -> tuple[str, ...]:
    return tuple("".join(found) for found in _LAUNCHED.findall(text))


def filled(digest: str, forms: Sequence[str]) -> str:
    """A form with its holes filled."""
    return blake2b("|".join((digest, *forms)).encode(), digest_size=8).hexdigest()


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(joined_launches(_UNSEEN.sub(" ", text)))


def _number(token: str) -> str:
    """Without the mark of a float: 1.0f and 1.0 differ in their type only."""
    plain = token.rstrip("fFuUlL") if not token.lower().startswith("0x") else token
    if "." in plain and "e" not in plain.lower():
        plain = plain.rstrip("0") + ("0" if plain.rstrip("0").endswith(".") else "")
    return plain


def _declares(tokens: Sequence[str], at: int) -> bool:
    """Whether a name seen for the first time is declared there: a type stands before it, and no call follows.

    When in doubt it is not: then its name counts, and a function with other names has another form.
    """
    before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
    if after == "<<<" or (after == "(" and before not in _TYPES):
        return False
    while before in ("*", "&"):
        at -= 1
        before = tokens[at - 1] if at else ""
        if before not in ("*", "&"):
            return before in _TYPES or before.endswith("_t")
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


def _kept(tokens: Sequence[str]) -> Iterator[str]:
    """The tokens without those that do not touch the results; texts are empty."""
    streams: set[str] = set()
    at, start_of_statement = 0, True
    while at < len(tokens):
        token = tokens[at]
        if start_of_statement and _CHECKS.fullmatch(token) and tokens[at + 1 : at + 2] == ["("]:
            at = _after_brackets(tokens, at + 1)
            while tokens[at : at + 1] == [";"]:
                at += 1
            continue
        if start_of_statement:
            end = _statement_end(tokens, at)
            words = tokens[at:end]
            if _is_of_launch(words):
                streams.update(_declared_streams(words))
                at = end
                continue
            if token == "if" and "cudaSuccess" in tokens[at : _after_brackets(tokens, at + 1)]:
                at = _after_block(tokens, _after_brackets(tokens, at + 1))
                continue
        if token == "<<<":
            while at < len(tokens) and tokens[at] != ">>>":
                at += 1
            at += 1
            continue
        if token == "," and tokens[at + 1 : at + 2] == ["cudaStream_t"] and at + 2 < len(tokens):
            streams.add(tokens[at + 2])
            at += 3
            continue
        if token == "," and at + 2 < len(tokens) and tokens[at + 1] in streams and tokens[at + 2] in (")", ","):
            at += 2
            continue
        start_of_statement = token in (";", "{", "}")
        if token not in _WITHOUT_MEANING and not (token == "::" and tokens[at - 1] in _WITHOUT_MEANING):
            yield '""' if token[0] == '"' else token
        at += 1


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


def _after_brackets(tokens: Sequence[str], at: int) -> int:
    depth = 0
    while at < len(tokens):
        depth += {"(": 1, ")": -1}.get(tokens[at], 0)
        at += 1
        if depth <= 0:
            break
    return at


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
