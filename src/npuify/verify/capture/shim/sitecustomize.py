"""Runs when a Python starts below ``npuify verify capture``: has the capture begin as soon as torch is imported.

A sitecustomize of the environment itself still runs.
"""

import os
import sys
from pathlib import Path


def _capture() -> None:
    import importlib.util

    home = os.environ["NPUIFY_CAPTURE_HOME"]

    class Own:
        """Finds npuify, where the program's Python does not have it: only it, nothing that lies beside it."""

        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> object:
            if name != "npuify":
                return None
            folder = Path(home, "npuify")
            return importlib.util.spec_from_file_location(
                name, folder / "__init__.py", submodule_search_locations=[str(folder)]
            )

    sys.meta_path.append(Own)  # type: ignore[arg-type]
    from npuify.verify.capture import start

    start.when_torch_comes()


def _chain() -> None:
    import importlib.machinery
    import importlib.util

    # The simulator's shim, which may stand before this one, has run already; it must not be run again.
    own = {str(Path(__file__).resolve().parent), str(Path(os.environ.get("NPUIFY_SIMULATE_SHIM", "/")).resolve())}
    others = [folder for folder in sys.path if str(Path(folder).resolve()) not in own]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("NPUIFY_CAPTURE") and os.environ.get("NPUIFY_CAPTURE_HOME"):
    _capture()
_chain()
