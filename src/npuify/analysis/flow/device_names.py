"""By which names programs call devices, and which functions surely take something else: what is told by names alone."""

from __future__ import annotations

import re
from typing import Final

DEVICE_NAME: Final = re.compile(
    r"(?:^|_)(?:devices?|dev|device_?(?:type|str|string|name|id|ids|map|target|placement|kind)s?|map_?location"
    r")(?:_?\d+)?_?$",
    re.IGNORECASE,
)
"""Identifiers that name a device: ``device``, ``model_device``, ``device_type``, ``map_location``."""

DEVICE_FUNCTION: Final = re.compile(
    r"(?:^|_)(?:device|devices|device_type|autocast|map_location)(?:_|$)|Device", re.ASCII
)
"""Functions that give or take a device, by their names."""

DEVICE_METHODS: Final = frozenset(("to", "to_empty", "cuda", "npu", "autocast", "pin_memory"))

PATHS: Final = frozenset(
    (
        "open Path PurePath join joinpath exists glob rglob with_name with_suffix import_module find_spec Popen load "
        "Extension CUDAExtension"
    ).split()
)
"""Functions and methods that take a path, a module's or a command's name."""

MESSAGES: Final = frozenset(
    (
        "print info debug warning warn error exception critical log write print_rank_0 input RuntimeError "
        "ValueError Exception NotImplementedError AssertionError append_text add_scalar set_description set_postfix"
    ).split()
)
"""Functions and methods that take something to be read."""

NAMES: Final = frozenset(
    ("hasattr delattr isinstance len getenv setenv search match compile findall sub add_marker mark Command").split()
)
"""Functions and methods that take a name or a pattern."""

HELPER: Final = "compute_device"
"""How the name of the module ends that a portable migration writes: its ``get`` takes a device."""

LOOKING: Final = frozenset(("get", "pop", "getenv"))
"""Functions and methods that take a key, and what to give where it is not there."""

COMPARING: Final = frozenset(
    (
        "startswith endswith __eq__ __contains__ find count split index replace append add insert extend setdefault put"
    ).split()
)
"""Methods that take something like what their object is, or holds."""

ADDING: Final = frozenset(("append", "add", "insert", "extend", "setdefault", "put"))
"""Those of them that put something into a container."""

PACKAGES: Final = {
    "os.path.": "path",
    "pathlib.": "path",
    "shutil.": "path",
    "importlib.": "path",
    "subprocess.": "path",
    "logging.": "message",
    "warnings.": "message",
    "re.": "key",
    "os.environ": "key",
    "os.getenv": "key",
    "jax.": "other",
    "cupy.": "other",
    "numba.": "other",
    "tensorflow.": "other",
}
"""What functions of packages take, by what their names begin with."""

FOREIGN_VARIABLE: Final = re.compile(r"(?:JAX|XLA|LMCACHE|NIXL|VLLM|KERAS|TF|CT2|UCX|SGLANG|SGL)_\w+")
"""Variables of the environment that other libraries than torch read, whose devices are words of their own."""

MESSAGE_KEYWORDS: Final = frozenset(
    (
        "help name description title label msg message prefix suffix metavar dest env doc reason tag tags group "
        "project id key"
    ).split()
)
PATH_KEYWORDS: Final = frozenset(("path", "file", "filename", "cwd"))

OPTIONS: Final = frozenset(
    (
        *("add_argument", "option", "argument", "Option", "Argument", "Choice", "field", "Field"),
        *("DEFINE_string", "DEFINE_enum", "add_option"),
    )
)
"""Functions that declare an option of a program, or a field."""

REGISTRIES: Final = re.compile(r"accelerator|backend|platform|strategy|registry", re.IGNORECASE)
"""Names of frameworks' own registries: their values happen to be called like devices."""


def names_device(identifier: str) -> bool:
    """Whether an identifier names a device."""
    return DEVICE_NAME.search(identifier) is not None


def gives_device(function: str) -> bool:
    """Whether a function returns a device, by its name: ``get_device``."""
    return DEVICE_FUNCTION.search(function) is not None and "count" not in function and "properties" not in function
