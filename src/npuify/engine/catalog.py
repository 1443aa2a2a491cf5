"""Every rule, and which of them a run asks: the modules below register their rules as they are imported."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.rules.opt_ins import OptIns
from npuify.rules.registry import registered
from npuify.rules.selection import Selection

if TYPE_CHECKING:
    from npuify.options import Options
    from npuify.rules.registry import Rule

MODULES = (
    "engine.ledger.unknown",
    "rules.devices.imports",
    "styles.imports",
    "styles.cuda_only_imports",
    "styles.auto.device_sides",
    "styles.auto.collectives",
    "styles.transfer",
    "rules.placement.program",
    "rules.devices.torch_cuda.names",
    "rules.devices.torch_cuda.names_in_strings",
    "rules.devices.torch_cuda.parameters",
    "rules.devices.methods",
    "rules.devices.device_names.device_strings",
    "rules.devices.device_names.device_parts",
    "rules.devices.device_names.made_names",
    "rules.devices.tensor_types",
    "rules.devices.default_types",
    "rules.devices.default_loaders",
    "rules.devices.old_operators",
    "rules.devices.capability.gates",
    "rules.devices.capability.cuda_version",
    "rules.devices.capability.nccl_version",
    "rules.devices.backend_switches",
    "rules.devices.errors",
    "rules.precision.amp",
    "rules.precision.apex",
    "rules.precision.apex_imports",
    "rules.precision.apex_amp",
    "rules.distributed.backends",
    "rules.devices.profiling",
    "rules.environment.python_variables",
    "rules.environment.nvidia_smi",
    "rules.environment.child_environment",
    "rules.environment.read_files",
    "rules.devices.libraries",
    "rules.stacks.foreign_words",
    "rules.stacks.clusters",
    "rules.stacks.device_words",
    "rules.stacks.handed_devices",
    "rules.stacks.arguments",
    "rules.stacks.mixed",
    "rules.stacks.onnx_runtime",
    "rules.stacks.options",
    "rules.stacks.tree_libraries",
    "rules.stacks.triton_server",
    "rules.jax.programs",
    "rules.paddle.names",
    "rules.paddle.arguments",
    "rules.paddle.devices",
    "rules.paddle.methods",
    "rules.paddle.options",
    "rules.paddle.settings",
    "rules.vllm.arguments",
    "rules.vllm.commands",
    "rules.vllm.options",
    "rules.vllm.processes",
    "rules.vllm.internals",
    "rules.vllm.settings",
    "rules.vllm.spawned",
    "rules.attention.rewrites",
    "rules.attention.imports",
    "rules.attention.fused_operators",
    "rules.packages.imports",
    "rules.packages.members",
    "rules.packages.nvml",
    "rules.packages.cuda_libraries",
    "rules.operators.limits",
    "rules.operators.masks",
    "rules.operators.operators",
    "rules.operators.dynamic_shapes",
    "rules.operators.kernels",
    "rules.operators.operator_limits",
    "rules.precision.chips",
    "rules.precision.float8",
    "rules.operators.chips",
    "rules.operators.cpu_numbers",
    "rules.attention.chips",
    "rules.attention.nested_tensors",
    "rules.distributed.collectives",
    "rules.distributed.accelerate",
    "rules.distributed.ray_resources",
    "rules.distributed.training_frameworks",
    "rules.distributed.framework_arguments",
    "rules.distributed.reduced_types",
    "rules.distributed.data_parallel",
    "rules.distributed.card_selection",
    "rules.distributed.own_data_parallel",
    "rules.training.loops",
    "rules.training.data_loading",
    "rules.training.checkpoints",
    "rules.training.measuring",
    "rules.training.performance",
    "rules.training.parameter_waits",
    "rules.training.prefetching",
    "rules.tensorflow.imports",
    "rules.tensorflow.sessions",
    "rules.tensorflow.initialisers",
    "rules.tensorflow.uses",
    "rules.tensorflow.devices",
    "rules.tensorflow.estimators.made",
    "rules.tensorflow.clusters",
    "rules.tensorflow.keras",
    "rules.tensorflow.stand_alone_keras",
    "rules.tensorflow.default_device",
    "rules.tensorflow.horovod",
    "rules.tensorflow.ranks",
    "rules.tensorflow.settings",
    "rules.tensorflow.datasets",
    "rules.tensorflow.loss_scaling",
    "rules.tensorflow.keras_sessions",
    "rules.tensorflow.fused",
    "engine.unparsed",
    "engine.traced",
    "rules.packages.dependencies",
    "rules.custom.findings",
    "rules.operators.cpu_fallback",
    "rules.operators.stand_ins",
    "rules.packages.gone_from_python",
    "rules.packages.gone_names",
    "rules.packages.old_arguments",
    "rules.packages.tensorflow_loggers",
    "rules.packages.older_torch.arguments",
    "rules.packages.older_torch.functions",
    "rules.packages.older_torch.gradients",
    "rules.packages.older_torch.iterators",
    "rules.packages.older_torch.masks",
    "rules.packages.older_torch.scalars",
    "rules.packages.older_torch.spectra",
    "rules.packages.older_torch.views",
    "rules.packages.loaded_objects",
    "rules.packages.third_party",
    "rules.packages.extensions.survey",
    "rules.packages.extensions.builders",
    "rules.packages.extensions.replacing",
    "rules.packages.extensions.triton_dots",
    "rules.packages.extensions.triton_kernels",
    "rules.packages.extensions.triton_libdevice",
    "rules.packages.extensions.triton_options",
    "rules.packages.extensions.cmake",
    "rules.environment.variables",
    "rules.environment.options",
    "rules.environment.shell_commands",
    "rules.environment.batch_systems",
    "rules.environment.container_commands",
    "rules.environment.serving_images",
    "rules.environment.containers",
    "rules.environment.settings",
    "engine.text_files.analyser",
    "rules.environment.line_ends",
)


def all_rules() -> dict[str, Rule]:
    """Every rule by code, in the order of their codes."""
    _import_all()
    return dict(sorted(registered().items()))


@cache
def _import_all() -> None:
    for name in MODULES:
        import_module(f"npuify.{name}")


def unknown_words(selection: Selection) -> list[str]:
    """The words in ``select`` and ``ignore`` of a selection that name no rule."""
    rules = all_rules().values()
    return [
        word
        for word in (*selection.select, *selection.ignore)
        if not any(rule.code.startswith(word.upper()) or rule.name == word for rule in rules)
    ]


def checked_selection(options: Options) -> Selection:
    """The selection that the options ask for.

    Raises:
        NpuifyError: a code or name in it is unknown.
    """
    from npuify.rules.custom.reader import check_together, read_rules

    custom = tuple(rule for path in options.rules for rule in read_rules(Path(path)))
    check_together(", ".join(options.rules), custom)
    opt_ins = OptIns(
        custom=custom,
        cpu_fallback=options.cpu_fallback,
        replace_unsupported=options.replace_unsupported,
        replace_kernels=options.replace_kernels,
    )
    selection = Selection(options.select, options.ignore, opt_ins)
    unknown = unknown_words(selection)
    if unknown:
        raise NpuifyError(
            phrase("no rule is called {unknown!r}", unknown=unknown[0]), advice="`npuify rules` lists them all"
        )
    return selection
