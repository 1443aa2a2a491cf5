"""What is known about CUDA names, torch_npu releases, packages and environment variables, each fact with its source.

Facts read from packages lie in ``data/releases/*.json``, what imported packages answered in ``data/live/*.json``;
both are made by :mod:`npuify.knowledge.generate`. Facts written by hand lie in ``data/*.toml``. Nothing is read before
it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.knowledge.release.describe import ReleaseSummary, describe_release, list_tables
    from npuify.knowledge.release.table import ReleaseTable, load
    from npuify.knowledge.release.versions import choose_release, releases

    from .hand_written import arguments, environment, meanings, packages
    from .machine.chips import Product, product, products
    from .pytorch.accelerator import accelerator_names
    from .schema import (
        ArgumentFact,
        Counterpart,
        EnvironmentFact,
        Meaning,
        PackageFact,
        Parameter,
        ReleaseInfo,
        Signature,
    )

_HOMES = {
    "accelerator_names": "pytorch.accelerator",
    "ArgumentFact": "schema",
    "arguments": "hand_written",
    "Counterpart": "schema",
    "EnvironmentFact": "schema",
    "Meaning": "schema",
    "PackageFact": "schema",
    "Parameter": "schema",
    "ReleaseInfo": "schema",
    "Signature": "schema",
    "ReleaseTable": "release.table",
    "load": "release.table",
    "environment": "hand_written",
    "meanings": "hand_written",
    "packages": "hand_written",
    "Product": "machine.chips",
    "product": "machine.chips",
    "products": "machine.chips",
    "choose_release": "release.versions",
    "releases": "release.versions",
    "ReleaseSummary": "release.describe",
    "describe_release": "release.describe",
    "list_tables": "release.describe",
}

__all__ = [
    "ArgumentFact",
    "Counterpart",
    "EnvironmentFact",
    "Meaning",
    "PackageFact",
    "Parameter",
    "Product",
    "ReleaseInfo",
    "ReleaseSummary",
    "ReleaseTable",
    "Signature",
    "accelerator_names",
    "arguments",
    "choose_release",
    "describe_release",
    "environment",
    "list_tables",
    "load",
    "meanings",
    "packages",
    "product",
    "products",
    "releases",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
