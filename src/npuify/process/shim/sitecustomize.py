"""Runs when a Python starts below a command of npuify, and has that command begin in it.

Other sitecustomize modules, such as that of the environment itself, still run.
"""

import os
import sys
from pathlib import Path

_BEGIN = (
    ("NPUIFY_SIMULATE", "npuify.simulator.finder", "install"),
    ("NPUIFY_SIMULATE_TENSORFLOW", "npuify.simulator.tensorflow.inside.begin", "install"),
    ("NPUIFY_RUN", "npuify.run.start", "begin"),
    ("NPUIFY_CAPTURE", "npuify.verify.capture.start", "when_torch_comes"),
    ("NPUIFY_CAPTURE_TENSORFLOW", "npuify.verify.capture.keras.begin", "when_tensorflow_comes"),
)
"""The variable that asks for it, and what is called then. The simulated torch_npu is there before what patches it."""


def _begin() -> None:
    asked = [row for row in _BEGIN if os.environ.get(row[0], "0") not in ("", "0") and os.environ.get(f"{row[0]}_HOME")]
    if not asked:
        return
    import importlib.util

    home = os.environ[f"{asked[0][0]}_HOME"]

    class Own:
        """Finds the npuify that asked, and nothing that lies beside it: the program's Python may have another, or none.

        First, since a folder of that name anywhere on the path, also without an ``__init__.py``, would be taken else.
        """

        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> object:
            if name != "npuify":
                return None
            folder = Path(home, "npuify")
            return importlib.util.spec_from_file_location(
                name, folder / "__init__.py", submodule_search_locations=[str(folder)]
            )

    sys.meta_path.insert(0, Own)  # type: ignore[arg-type]
    for _, module, function in asked:
        getattr(importlib.import_module(module), function)()


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


_begin()
_chain()
