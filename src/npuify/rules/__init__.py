"""The rules, one module an area of CUDA. Being in this folder registers them."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "imports",
    "style_imports",
    "cuda_only_imports",
    "transfer",
    "placement",
    "names",
    "methods",
    "device_strings",
    "tensor_types",
    "capability",
    "nccl_version",
    "backends",
    "errors",
    "amp",
    "apex",
    "apex_amp",
    "distributed",
    "profiling",
    "environment",
    "libraries",
    "attention",
    "attention_imports",
    "fused_operators",
    "packages",
    "limits",
    "operators",
    "kernels",
    "operator_limits",
    "chips",
    "collectives",
    "training_frameworks",
    "framework_arguments",
    "data_parallel",
    "training",
    "training_state",
    "unparsed",
    "traced",
    "dependencies",
    "custom",
    "cpu_fallback",
    "stand_ins",
    "third_party",
    "native_survey",
    "extensions",
    "triton_kernels",
    "cmake",
    "variables",
    "options",
    "shell_commands",
    "containers",
    "settings",
    "other_files",
    "line_ends",
)


def load_all() -> None:
    """Import every rule module, so that its rules are registered."""
    for name in MODULES:
        import_module(f"npuify.rules.{name}")
