"""The reasons for which a place is cleared, and what each rests on."""

from __future__ import annotations

from typing import Final, NamedTuple


class Reason(NamedTuple):
    """Why a place needs nothing.

    ``one`` and ``many`` are how reports count it, ``text`` what it rests on.
    """

    id: str
    one: str
    many: str
    text: str


DATA_FILE: Final = Reason(
    "data-file", "file of data", "files of data", "A file of settings as long as this holds data, and was not read."
)
_REASONS: Final = (
    DATA_FILE,
    Reason("comment", "comment", "comments", "It stands in a comment, which nothing runs."),
    Reason("docstring", "docstring", "docstrings", "It stands in a docstring or a string that is a statement."),
    Reason("text", "text", "texts", "The string holds words for people: it names no device, variable or package."),
    Reason("build-flag", "compiler flag", "compiler flags", "It defines a macro for a compiler."),
    Reason("path", "path", "paths", "The string is used as a path."),
    Reason("message", "message", "messages", "The string is printed, logged or raised."),
    Reason("key", "key", "keys", "The string is used as a key or as the name of something of the project."),
    Reason("other-string", "other string", "other strings", "The string is used where no device is meant."),
    Reason("option-name", "option name", "option names", "It names an option of the project's own program."),
    Reason("own-name", "name of the project", "names of the project", "The project itself defines this name."),
    Reason(
        "own-member",
        "member of the project's classes",
        "members of the project's classes",
        "It belongs to a class or module of the project.",
    ),
    Reason("own-module", "module of the project", "modules of the project", "It imports a module of the project."),
    Reason(
        "own-value",
        "value of an option",
        "values of options",
        "It is, or reads, an option, argument or attribute of the project.",
    ),
    Reason(
        "unknown-to-torch",
        "name that torch does not have",
        "names that torch does not have",
        "Neither torch nor a package made for CUDA has anything of this name, whatever it is an attribute of.",
    ),
    Reason(
        "other-package",
        "name of another package",
        "names of other packages",
        "It belongs to a package that has nothing to do with CUDA.",
    ),
    Reason("works-unchanged", "name that works unchanged", "names that work unchanged", "The NPU has it as it is."),
    Reason(
        "handles-npu",
        "place that handles the NPU",
        "places that handle the NPU",
        "The code around it already chooses between CUDA and the NPU.",
    ),
    Reason(
        "at-run-time", "name replaced at run time", "names replaced at run time", "The import of torch_npu replaces it."
    ),
    Reason(
        "guarded",
        "guarded import",
        "guarded imports",
        "The program imports it only where it is installed, and goes on without it.",
    ),
    Reason("locked", "locked wheel", "locked wheels", "A lock file lists it; the lock is made again for the NPU."),
    Reason(
        "suppressed", "suppressed place", "suppressed places", "A comment of the project tells npuify to ignore it."
    ),
    Reason(
        "not-selected",
        "place that was not asked about",
        "places that were not asked about",
        "Rules were left out by --select or --ignore, and one of these may speak of it.",
    ),
    Reason(
        "setting", "setting of the project", "settings of the project", "It is a key or value that names no device."
    ),
    Reason(
        "native-source",
        "place in C++ or CUDA code",
        "places in C++ or CUDA code",
        "It is compiled: what builds it, and what Python calls of it, is reported.",
    ),
    Reason("output", "output of a cell", "outputs of cells", "A notebook recorded it as output or prose."),
)
REASONS: Final = {reason.id: reason for reason in _REASONS}
"""The reasons by their stable ids."""
