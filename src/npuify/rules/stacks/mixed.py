"""Programs that mix frameworks: data pipelines beside a PyTorch model, and memory that crosses between them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.mixed import has_jax_for_data, has_tensorflow_for_data
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PINS = {
    "tensorflow": ("TensorFlow", '{name}.config.set_visible_devices([], "GPU")', has_tensorflow_for_data),
    "jax": ("JAX", '{name}.config.update("jax_platforms", "cpu")', has_jax_for_data),
}
_PINNED = (b"set_visible_devices([]", b"jax_platforms", b"JAX_PLATFORMS", b"jax_platform_name", b"JAX_PLATFORM_NAME")


@rule(
    "NPU974",
    "data-pipeline-beside-pytorch",
    Safety.REVIEW,
    Severity.WARNING,
    words=("import tensorflow", "import jax"),
    also_in_file=("torch",),
    evidence=Evidence.DOCUMENTED,
    source="TensorFlow's documentation of tf.config.set_visible_devices; jax 0.10.2: jax.config.jax_platforms",
)
def data_pipeline_beside_pytorch(node: ast.Import, file: PythonFile) -> Iterator[Diagnostic]:
    """TensorFlow or JAX only prepares data for a PyTorch model: it is pinned to the CPU.

    So it takes no card and no memory from the model, with or without a plug-in of its own.

    Before::

        import tensorflow as tf
        import torch

        records = tf.data.TFRecordDataset("train.records")
        model = torch.nn.Linear(4, 4)

    After::

        import tensorflow as tf
        import torch

        tf.config.set_visible_devices([], "GPU")

        records = tf.data.TFRecordDataset("train.records")
        model = torch.nn.Linear(4, 4)
    """
    module = file.parent(node)
    if not isinstance(module, ast.Module) or len(node.names) != 1 or node.names[0].name not in _PINS:
        return
    if any(word in file.source.data for word in _PINNED) or not file.project.packages.isdisjoint(_PINS):
        return
    framework, text, is_for_data = _PINS[node.names[0].name]
    if not is_for_data(file) or (framework == "JAX" and _is_shared_with_models(file)):
        return
    pin = text.format(name=node.names[0].asname or node.names[0].name)
    edit = _behind_imports(node, module, pin, file)
    yield file.report(
        node,
        phrase("{framework} prepares data here for PyTorch, and belongs on the CPU", framework=framework),
        edits=[edit] if edit else (),
        subject=phrase("{framework} for data", framework=framework),
        advice="" if edit else phrase("{pin} before anything is computed with it", pin=pin),
    )


def _is_shared_with_models(file: PythonFile) -> bool:
    """Whether programs whose models are JAX's may import a file: it is no program, and the project has such models."""
    return b"__main__" not in file.source.data and any(
        file.project.files_with(word) for word in (b"flax", b"haiku", b"optax", b"equinox")
    )


def _behind_imports(node: ast.Import, module: ast.Module, text: str, file: PythonFile) -> Edit | None:
    """Puts a statement behind the imports that an import stands among; None where something shares their last line."""
    at = module.body.index(node)
    while at + 1 < len(module.body) and isinstance(module.body[at + 1], (ast.Import, ast.ImportFrom)):
        at += 1
    last = module.body[at]
    starts = file.source.text.line_starts
    line = last.end_lineno or last.lineno
    if at + 1 < len(module.body) and module.body[at + 1].lineno <= line:
        return None
    newline = file.source.text.newline
    end = starts[line] if line < len(starts) else len(file.source.data)
    before = "" if file.source.data[end - 1 : end] in (b"\n", b"\r") else newline
    return file.edit(end, end, f"{before}{newline}{text}{newline}")


_TELLS_HOST = 'take it to the host first: the array of x.cpu(), and .to("npu") for what comes back'


@rule(
    "NPU975",
    "device-memory-for-another-library",
    Safety.MANUAL,
    Severity.WARNING,
    words=("dlpack", "__cuda_array_interface__", "as_cuda_array"),
    evidence=Evidence.PACKAGE,
    source="torch/_tensor.py: privateuse1 is kDLExtDev, and __cuda_array_interface__; torch_npu.utils.dlpack",
)
def device_memory_for_another_library(node: ast.Call | ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """Memory of a card is handed from one library to another: by DLPack, ``__cuda_array_interface__``, cupy or numba.

    An NPU's memory has the device type ``kDLExtDev`` in DLPack, which CuPy, JAX, TensorFlow and NumPy refuse, and no
    ``__cuda_array_interface__``.
    """
    if isinstance(node, ast.Attribute):
        if node.attr == "__cuda_array_interface__":
            yield file.report(
                node,
                "a tensor on an NPU has no __cuda_array_interface__, and asking for it raises",
                severity=Severity.ERROR,
                subject="__cuda_array_interface__",
                advice=_TELLS_HOST,
            )
        return
    name = file.qualname(node.func) or ""
    last = name.rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
    if last == "as_cuda_array":
        yield file.report(
            node.func,
            "numba's CUDA arrays are views of a GPU's memory",
            severity=Severity.ERROR,
            subject="numba.cuda.as_cuda_array",
            advice=_TELLS_HOST,
        )
    elif last.lower() in ("from_dlpack", "to_dlpack", "todlpack"):
        gives = last.lower() != "from_dlpack"
        if not name.startswith("torch."):
            message = phrase("{last} of another library ", last=last) + (
                "gives a GPU's memory" if gives else "refuses an NPU's memory"
            )
        elif gives:
            message = "a tensor on an NPU is kDLExtDev in DLPack, which libraries other than torch refuse"
        else:
            message = (
                "what another library hands over by DLPack is on the CPU where it has no NPU, and so is the tensor"
            )
        yield file.report(node.func, message, subject="dlpack", advice=_TELLS_HOST)
