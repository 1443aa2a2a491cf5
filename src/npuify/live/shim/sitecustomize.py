"""Runs when a Python starts below ``npuify run``: has CUDA's names mean the NPU once the program imports torch.

Other sitecustomize modules, such as that of the simulator or of the environment itself, still run.
"""

import os
import sys
from pathlib import Path


def _begin() -> None:
    import importlib.util

    home = os.environ["NPUIFY_RUN_HOME"]

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
    from npuify.live import start

    start.begin()


def _chain() -> None:
    import importlib.machinery
    import importlib.util

    here = Path(__file__).resolve().parent
    folders = [Path(folder).resolve() for folder in sys.path]
    # Those that stand before this one have had their turn, and one of them has called this.
    others = sys.path[folders.index(here) + 1 :] if here in folders else sys.path
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None and spec.origin != __file__:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("NPUIFY_RUN") == "1" and os.environ.get("NPUIFY_RUN_HOME"):
    _begin()
_chain()
