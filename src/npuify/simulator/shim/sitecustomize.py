"""Runs when a Python starts below ``npuify simulate``: makes the simulated torch_npu importable, and nothing else.

A sitecustomize of the environment itself still runs.
"""

import os
import sys
from pathlib import Path


def _simulate() -> None:
    import importlib.machinery
    import importlib.util

    home = os.environ["NPUIFY_SIMULATE_HOME"]

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
    from npuify.simulator import finder

    finder.install()


def _chain() -> None:
    import importlib.machinery
    import importlib.util

    here = Path(__file__).resolve().parent
    others = [folder for folder in sys.path if Path(folder).resolve() != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("NPUIFY_SIMULATE") == "1" and os.environ.get("NPUIFY_SIMULATE_HOME"):
    _simulate()
_chain()
