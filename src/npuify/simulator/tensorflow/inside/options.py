"""The options of npu_device, which refuse what there is not: names, values and defaults are those of our table.

Words of errors: hicann/tensorflow@82957b9:tf_adapter_2.x/python/npu_device/configs/option_base.py.
"""

from __future__ import annotations

from typing import Any

from npuify.simulator.tensorflow.inside import journal, tables

_GROUPS: dict[str, dict[str, Any]] = {
    "dump_config": dict.fromkeys(
        "enable_dump dump_path dump_step dump_mode enable_dump_debug dump_debug_mode dump_data dump_layer".split()
    ),
    "aoe_config": dict.fromkeys(("aoe_mode", "work_path", "aoe_config_file")),
    "profiling_config": dict.fromkeys(("enable_profiling", "profiling_options")),
    "memory_config": dict.fromkeys(("atomic_clean_policy", "static_memory_policy", "variable_use_1g_huge_page")),
    "experimental": {
        "multi_branches_config": dict.fromkeys(("input_shape", "dynamic_node_type", "dynamic_dims")),
        "logical_device_deploy_config": dict.fromkeys(("logical_device_cluster_deploy_mode", "logical_device_id")),
        "model_deploy_config": dict.fromkeys(("model_deploy_mode", "model_deploy_devicelist")),
        "graph_memory_optimize_config": dict.fromkeys(("recompute", "graph_slice")),
        **dict.fromkeys(("resource_config_path", "graph_parallel_option_path", "enable_graph_parallel")),
    },
}
"""Which options are below which name: the classes beside option_base.py."""
_CLASSES = {
    "dump_config": "NpuDumpConfig",
    "aoe_config": "NpuAoeConfig",
    "profiling_config": "NpuProfilingConfig",
    "memory_config": "MemoryConfig",
    "experimental": "NpuExperimentalConfig",
    "multi_branches_config": "NpuMultiBranchesConfig",
    "logical_device_deploy_config": "LogicalDeviceDeployConfig",
    "model_deploy_config": "ModelDeployConfig",
    "graph_memory_optimize_config": "GraphMemoryOptimizeConfig",
}


class OptionValue:
    """One option."""

    def __init__(self, default: Any, optional: Any) -> None:
        self.default, self.optional, self._value = default, optional, default

    @property
    def value(self) -> Any:
        """As text, booleans as digits; None where it has none."""
        if self._value is None:
            return None
        return {"True": "1", "False": "0"}.get(str(self._value), str(self._value))

    @value.setter
    def value(self, given: Any) -> None:
        if isinstance(self.optional, (tuple, list)) and given not in self.optional:
            if self.default is not None and not isinstance(given, type(self.default)):
                raise TypeError("Expected " + type(self.default).__name__ + ", got " + type(given).__name__)
            raise ValueError("'" + str(given) + "' not in optional list " + str(self.optional))
        self._value = given


class NpuBaseConfig:
    """Options below one name."""

    def __init__(self, title: str, inner: dict[str, Any]) -> None:
        known = tables.options()
        made = {
            name: NpuBaseConfig(_CLASSES[name], below) if isinstance(below, dict) else OptionValue(*known[name][:2])
            for name, below in inner.items()
        }
        self.__dict__.update(_title=title, _options=made, _opened=False)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_options", {}):
            return self._options[name]
        raise AttributeError(f"'{self.__dict__.get('_title')}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._options:
            raise ValueError(f"{self._title} has no option {name}, all options {list(self._options)}")
        if isinstance(self._options[name], OptionValue):
            self._options[name].value = value
            journal.note("option", name=name, value=value)
            if self._opened:
                journal.tell(f"late-{name}", f"option {name} is set after npu_device.open(): it has no effect")
        else:
            self._options[name] = value

    def opened(self) -> None:
        """From now on options come too late."""
        self.__dict__["_opened"] = True
        for each in self._options.values():
            if isinstance(each, NpuBaseConfig):
                each.opened()

    def as_dict(self) -> dict[str, Any]:
        """Every option that has a value."""
        found: dict[str, Any] = {}
        for name, each in self._options.items():
            if isinstance(each, NpuBaseConfig):
                found.update(each.as_dict())
            elif each.value is not None:
                found[name] = each.value
        return found


def _flat(groups: dict[str, Any]) -> set[str]:
    found: set[str] = set()
    for name, below in groups.items():
        found |= _flat(below) if isinstance(below, dict) else {name}
    return found


class NpuConfig(NpuBaseConfig):
    """All of them: ``npu_device.global_options()``."""

    def __init__(self) -> None:
        first = [name for name in tables.options() if name not in _flat(_GROUPS)]
        super().__init__("NpuConfig", {**dict.fromkeys(first), **_GROUPS})


class NpuRunContextOptions(NpuBaseConfig):
    """Those of ``npu_device.configs.run_context_options()``."""

    def __init__(self) -> None:
        super().__init__("NpuRunContextOptions", {"experimental": _GROUPS["experimental"]})
