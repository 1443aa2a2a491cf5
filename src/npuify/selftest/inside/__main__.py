"""``python inside``: answers questions, which come as lines of JSON; see :mod:`npuify.selftest.inside.server`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_HOME = Path(__file__).resolve().parents[2]


class _Own:
    """Finds npuify, where this Python does not have it: only it, nothing that lies beside it."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        if name != "npuify":
            return None
        return importlib.util.spec_from_file_location(
            name, _HOME / "__init__.py", submodule_search_locations=[str(_HOME)]
        )


if __name__ == "__main__":
    # The modules that lie here are those of a package; as the script's own folder they would hide others.
    sys.path[:] = [one for one in sys.path if not one or Path(one).resolve() != Path(__file__).resolve().parent]
    sys.meta_path.append(_Own)  # type: ignore[arg-type]
    from npuify.selftest.inside.server import main

    main()
