"""Builds the adapter's modules in memory: the names that it has, with what stands behind them here.

A name of the adapter that nothing stands behind is there too; using it raises :class:`npuify.simulator.NotSimulated`. A
name that the adapter lacks is not there, as on a card.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from npuify.simulator import NotSimulated
from npuify.simulator.tensorflow.inside import tables

_HERE = "npuify.simulator.tensorflow.inside"
_BRIDGE = "npu_bridge"
_COMPAT = "npu_device.compat.v1"
_COMPAT_LACKS = ("estimator.npu.npu_loss_scale_manager", "estimator.npu.npu_loss_scale_optimizer")
"""hicann/tensorflow@82957b9:tf_adapter_2.x/compat_v1/upgrade_tf1_compat_tf2.py."""

_BEHIND = {
    "npu_bridge": ("sessions",),
    "npu_bridge.npu_init": ("sessions", "hooks"),
    "npu_bridge.hccl.hccl_ops": ("collectives",),
    "npu_bridge.helper.helper": ("operators",),
    "npu_bridge.estimator.npu_ops": ("operators", "sessions"),
    "npu_bridge.estimator.npu_unary_ops": ("operators",),
    "npu_bridge.estimator.npu_aicore_ops": ("operators",),
    "npu_bridge.estimator.npu.util": ("loops", "world"),
    "npu_bridge.estimator.npu.npu_plugin": ("sessions",),
    "npu_bridge.estimator.npu.npu_scope": ("scopes",),
    "npu_bridge.estimator.npu.npu_config": ("estimators", "sessions"),
    "npu_bridge.estimator.npu.npu_estimator": ("estimators",),
    "npu_bridge.estimator.npu.keras_to_npu": ("estimators",),
    "npu_bridge.estimator.npu.npu_strategy": ("estimators",),
    "npu_bridge.estimator.npu.npu_saver": ("estimators",),
    "npu_bridge.estimator.npu.npu_hook": ("hooks", "loops"),
    "npu_bridge.estimator.npu.npu_callbacks": ("hooks",),
    "npu_bridge.estimator.npu.npu_optimizer": ("optimizers",),
    "npu_bridge.estimator.npu.npu_loss_scale_manager": ("loss_scaling",),
    "npu_bridge.estimator.npu.npu_loss_scale_optimizer": ("loss_scaling",),
    "npu_device": ("device", "scopes"),
    "npu_device.npu_device": ("device", "world"),
    "npu_device.compat.utils": ("sessions",),
    "npu_device.configs.npu_config": ("options",),
    "npu_device.configs.npu_run_context_option": ("options",),
    "npu_device.distribute.hccl": ("distribute",),
    "npu_device.distribute.hccl_ops": ("collectives",),
    "npu_device.distribute.npu_callbacks": ("distribute", "world"),
    "npu_device.ops.train_ops": ("operators",),
    "npu_device.train.optimizer.npu_loss_scale_optimizer": ("keras_loss_scaling",),
    "npu_device.utils.scope": ("scopes",),
    "hccl.manage.api": ("world",),
    "hccl.split.api": ("world",),
}
_HCCL = {
    "hccl.manage.api": (
        "create_group destroy_group get_rank_size get_local_rank_size get_rank_id get_local_rank_id "
        "get_world_rank_from_group_rank get_group_rank_from_world_rank"
    ).split(),
    "hccl.split.api": ["set_split_strategy_by_idx", "set_split_strategy_by_size"],
}
"""What npu_bridge takes from CANN's own package, which is not in the adapter's sources."""
_LATE = ("npu_bridge.npu_init", f"{_COMPAT}.npu_init")
"""Modules whose import has an effect, so that it is the program that has to ask for it."""


class _Module(ModuleType):
    def __repr__(self) -> str:
        return f"<module {self.__name__!r} (simulated by npuify)>"


class _Missing:
    """A value, or a class's place, that is not simulated."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSimulated(f"{self._name} exists in the adapter but is not simulated (npuify simulate)")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSimulated(f"{self._name} exists in the adapter but is not simulated (npuify simulate)")


class _Family:
    """The modules of one package, under the name that the program knows it by."""

    def __init__(self, prefix: str, table: dict[str, dict[str, str]], shown: str, lacks: tuple[str, ...] = ()) -> None:
        self.prefix = prefix
        self.shown = shown
        gone = tuple(f"={prefix}.{each}." for each in lacks)
        self.table = {
            name: {last: spec for last, spec in specs.items() if not spec.startswith(gone)}
            for name, specs in table.items()
            if name[len(prefix) + 1 :] not in lacks
        }
        self.modules: dict[str, ModuleType] = {}

    def name(self, original: str) -> str:
        return self.shown + original[len(self.prefix) :]

    def build(self) -> None:
        for original in sorted(self.table):
            parts = original.split(".")
            for end in range(1, len(parts) + 1):
                self._make(".".join(parts[:end]))
        for original in self.modules:
            for last, spec in self.table.get(original, {}).items():
                if "." not in last:
                    self.modules[original].__dict__[last] = self._object(original, last, spec)

    def _make(self, original: str) -> None:
        if original in self.modules:
            return
        shown = self.name(original)
        made = _Module(shown)
        made.__path__ = []
        made.__package__ = shown
        self.modules[original] = made
        parent, _, last = original.rpartition(".")
        if parent in self.modules and shown not in _LATE:
            setattr(self.modules[parent], last, made)

    def _object(self, original: str, last: str, spec: str) -> Any:
        if spec.startswith("="):
            home, _, name = spec[1:].rpartition(".")
            if spec[1:] in self.modules:
                return self.modules[spec[1:]]
            if home in self.table and name in self.table[home]:
                return self._object(home, name, self.table[home][name])
            return behind(home, name, spec[1:])
        return behind(original, last, f"{self.name(original)}.{last}")


def behind(module: str, name: str, shown: str) -> Any:
    """What stands for a name of the adapter; a stand-in that refuses to be used where nothing does."""
    for place in _BEHIND.get(module, ()):
        found = importlib.import_module(f"{_HERE}.{place}").__dict__.get(name)
        if found is not None:
            return found
    return _Missing(shown)


_modules: dict[str, ModuleType] = {}


def module(name: str) -> ModuleType | None:
    """The module of that name; None where the adapter has none, or it cannot be used with this TensorFlow."""
    root = name.partition(".")[0]
    if root not in _modules and f"{root}." not in _modules:
        _modules[f"{root}."] = _Module(root)  # being built
        if root == _BRIDGE:
            _add(_Family(_BRIDGE, tables.table(_BRIDGE)["names"], _BRIDGE))
        elif root == "npu_device":
            # What is for users is bound last: npu_device.distribute is the API, not the package that it comes from.
            _add(_Family("npu_device", tables.table("npu_device")["names"], "npu_device"))
            _public_names()
        else:
            _add_hccl()
    if name.startswith(_COMPAT) and _COMPAT not in _modules:
        _add(_Family(_BRIDGE, tables.table(_BRIDGE)["names"], _COMPAT, _COMPAT_LACKS))
    return _modules.get(name)


def _add(family: _Family) -> None:
    family.build()
    _modules.update({made.__name__: made for made in family.modules.values() if made.__name__ not in _modules})


def _add_hccl() -> None:
    for name in ("hccl", "hccl.manage", "hccl.split", *_HCCL):
        made = _Module(name)
        made.__path__ = []
        made.__package__ = name
        made.__dict__.update({each: behind(name, each, f"{name}.{each}") for each in _HCCL.get(name, ())})
        _modules[name] = made


def _public_names() -> None:
    root = _modules["npu_device"]
    for name, made in _modules.items():
        parent, _, last = name.rpartition(".")
        if parent.startswith("npu_device._api") and parent in _modules:
            setattr(_modules[parent], last, made)
    for last in ("distribute", "train", "ops", "compat", "configs"):
        setattr(root, last, _modules[f"npu_device._api.{last}"])


def imported(name: str) -> None:
    """A module has been imported by the program: what the import does on a card is done here."""
    root = name.partition(".")[0]
    if name == root:
        # The package imports all but these by itself, which binds its public names for good.
        inner = {key: made for key, made in _modules.items() if key.startswith(f"{root}.") and not key.endswith(".")}
        sys.modules.update({key: made for key, made in inner.items() if not _late(key)})
        if root == "npu_device":
            from npuify.simulator.tensorflow.inside import device

            device.watch()
    if name in _LATE:
        from npuify.simulator.tensorflow.inside import sessions

        sessions.import_effect(_modules[name])


def _late(name: str) -> bool:
    return name in _LATE or name.startswith(_COMPAT)
