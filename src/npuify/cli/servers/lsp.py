"""``npuify lsp``."""

from __future__ import annotations

from npuify.cli.common.guard import NOTHING_LEFT
from npuify.language import phrase


def lsp() -> int:
    """Start the language server, which editors talk to over standard input and output.

    It needs pygls: pip install 'npuify[lsp]'. Settings come from [tool.npuify] in pyproject.toml.
    """
    from npuify.model import NpuifyError

    try:
        import lsprotocol
        import pygls
    except ModuleNotFoundError as error:
        raise NpuifyError(
            phrase("the language server needs {name}, which is not installed", name=error.name),
            advice="pip install 'npuify[lsp]'",
        ) from None
    del lsprotocol, pygls
    from npuify.cli.common.language import language_was_said
    from npuify.lsp.server import start

    start(language_was_said=language_was_said())
    return NOTHING_LEFT
