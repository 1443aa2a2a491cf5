"""Files that are not Python: launchers, configurations, containers. Which rules see which file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.engine.text_files.manifests import is_workflow, judge_manifest
from npuify.engine.text_files.recipes import judge_dockerfile, judge_justfile, judge_makefile
from npuify.engine.text_files.script import judge_script
from npuify.engine.text_files.units import judge_supervised, judge_unit
from npuify.rules.environment.settings import judge_settings, judge_unreadable
from npuify.rules.paddle.settings import judge_paddle_settings
from npuify.rules.run import Result
from npuify.rules.stacks.clusters import judge_cluster
from npuify.rules.stacks.options import judge_stack_settings
from npuify.rules.stacks.triton_server import judge_triton_model
from npuify.rules.text_file import TextFile
from npuify.rules.vllm.settings import judge_vllm_settings
from npuify.source.settings import UnreadableSettings, read

if TYPE_CHECKING:
    from npuify.rules.job import Job
    from npuify.rules.program_options import ProgramOptions
    from npuify.source.text import Text

_WORDS = (
    b"nccl",
    b"cuda",
    b"nvidia",
    b"gpu",
    b"tf32",
    b"fp8",
    b"apex",
    b'"amp"',
    b"lamb",
    b'"lion"',
    b"8bit",
    b"nvcc",
    b"tensorrt",
    b"hccl",
    b" npu",
    b"pip install",
    b"pip3 install",
    b"pip --",
    b"pip3 --",
    b"pipenv ",
    b"uv add",
    b"uv --",
    b'"add"',
    b"poetry ",
    b"pdm add",
    b"rye add",
    b"conda ",
    b"mamba ",
    b'"install"',
    b"=npu",
    b"pytorch",
    b"vllm",
    b"load_in_4bit",
    b"load_in_8bit",
    b"8bit",
    b": paged_",
    b" paged_",
    b"=paged_",
    b"use_tensorrt",
    b"use_trt",
    b"enforce_eager",
    b"enforce-eager",
    b"max_model_len",
    b"max-model-len",
    b"sglang",
    b"yolo ",
    b"llamafactory-cli",
    b"swift ",
    b"verl.trainer",
    b"--transformer-impl",
    b"--fp8",
    b"--tp-comm-overlap",
    b"finetuning_type",
    b"trtexec",
    b"trtllm",
    b"sparse_attention",
    b"dynamo_backend",
    b"xla_python_client",
    b"jax_platform",
    b"flags_",
    b"visible_devices",
    b"huggingfaceserver",
    b"ray-llm",
    b"n-gpu-layers",
    b" -ngl ",
    b"ggml_cuda",
    b"llama_cu",
    b"accelerators:",
    b"openrlhf",
    b"ds_build_ops",
    b"strategy=megatron",
    b"available_node_types",
    b"num-gpus",
    b"sgl_",
    b"onnx2trt",
    b"mim install",
    b"text-generation-inference",
    b"tritonserver",
    b"kind_gpu",
    b"tensorrt_",
    b'"tensorrt',
    b"gpu_execution_accelerator",
    b"gpus:",
    b"cuda {",
    b" --nv",
    b"horovodrun",
    b"mpirun ",
    b"mpiexec ",
)
"""Lower-case words of which a file has to hold one."""
_SETTINGS = frozenset(("yaml", "json", "toml", "ini", "env"))
_NO_SETTINGS = frozenset(
    (
        ".pre-commit-config.yaml",
        ".readthedocs.yaml",
        ".readthedocs.yml",
        "codecov.yml",
        "composer.json",
        "mkdocs.yml",
        "mypy.ini",
        "package-lock.json",
        "package.json",
        "pyproject.toml",
        "pytest.ini",
        "setup.cfg",
        "tsconfig.json",
    )
)
"""Files of tools that have nothing to do with devices."""
_DEPENDENCIES = re.compile(
    r"(?:^|/)(?:(?:[\w.-]*[-_.])?(?:environment|conda)|meta)[\w.-]*\.ya?ml$|\.lock$|(?:^|/)(?:Cargo|Pipfile)[\w.]*$"
)


_OF_JOBS = frozenset(("env", "variables", "environment"))
"""Keys under which jobs of a continuous integration are given variables."""


class _OtherFiles:
    """Shows each file to the rules for its kind."""

    kinds = ("shell", "docker", "make", "just", "unit", "pbtxt", *sorted(_SETTINGS))

    def takes(self, relative: str, kind: str) -> bool:
        if kind in _SETTINGS:
            return relative.rpartition("/")[2] not in _NO_SETTINGS and _DEPENDENCIES.search(relative) is None
        return kind in self.kinds

    def may_concern(self, lower: bytes) -> bool:
        return any(word in lower for word in _WORDS)

    def findings(self, relative: str, kind: str, text: Text, job: Job) -> Result:
        if not self.may_concern(text.data.lower()):
            return Result([])
        file = TextFile(relative, kind, text, job)
        options = job.options()
        if kind == "shell":
            judge_script(text.data, 0, len(text.data), file, options)
        elif kind == "docker":
            judge_dockerfile(file, options)
        elif kind == "make":
            judge_makefile(file, options)
        elif kind == "just":
            judge_justfile(file, options)
        elif kind == "unit":
            judge_unit(file, options)
        elif kind == "pbtxt":
            judge_triton_model(file)
        else:
            self._settings(file, options)
        return Result(sorted(file.findings, key=lambda finding: (finding.start, finding.end, finding.code)))

    def _settings(self, file: TextFile, options: ProgramOptions) -> None:
        try:
            document = read(file.kind, file.data)
        except UnreadableSettings as error:
            # Templates, fragments, data: what is not of its format names nothing for sure.
            judge_unreadable(error.message, error.line, file)
            return
        if file.kind in ("yaml", "json"):
            judge_manifest(document, file, options)
        elif file.kind == "ini":
            judge_supervised(document, file, options)
        judge_stack_settings(document, file)
        if file.kind == "yaml":
            judge_cluster(document, file)
        document = judge_paddle_settings(judge_vllm_settings(document, file), file)
        if not is_workflow(file.relative):
            judge_settings(document, file)
        else:
            judge_settings(
                document._replace(values=[one for one in document.values if not _OF_JOBS.isdisjoint(one.path)]), file
            )

    def is_valid(self, relative: str, kind: str, data: bytes) -> bool:
        if kind not in _SETTINGS or not self.may_concern(data.lower()):
            return True
        try:
            read(kind, data)
        except UnreadableSettings:
            return False
        return True


ANALYSER = _OtherFiles()
