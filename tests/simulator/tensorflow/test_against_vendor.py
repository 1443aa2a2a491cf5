"""The stand-in against the vendor's own Python layer, imported over stubs of what is compiled: the same questions, the same answers.

``NPUIFY_TF_ADAPTER`` names a checkout of the TensorFlow adapter; nothing of it is in this repository.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from .conftest import ROOT, python_with

if TYPE_CHECKING:
    from pathlib import Path

ADAPTER = os.environ.get("NPUIFY_TF_ADAPTER", "")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not ADAPTER, reason="NPUIFY_TF_ADAPTER names no checkout of the TensorFlow adapter"),
]

STUBS = """
import sys, types
import tensorflow as tf
sys.path.insert(0, ADAPTER + "/tf_adapter/python")
sys.path.insert(0, ADAPTER + "/tf_adapter_2.x/python")
class Native(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        def operator(*args, **kwargs):
            given = [one for one in (*args, *kwargs.values()) if isinstance(one, (tf.Tensor, tf.Variable, list))]
            return tf.no_op() if not given else ([tf.identity(x) for x in given[0]] if isinstance(given[0], list) else tf.identity(given[0]))
        return operator
def add(name, **names):
    made = Native(name)
    made.__dict__.update(names)
    sys.modules[name] = made
    return made
names = "create_group destroy_group get_rank_size get_local_rank_size get_rank_id get_local_rank_id get_world_rank_from_group_rank get_group_rank_from_world_rank"
for name in ("hccl", "hccl.manage", "hccl.split"):
    add(name, __path__=[])
add("hccl.manage.api", **{name: (lambda *a: 0) for name in names.split()})
add("hccl.split.api", set_split_strategy_by_idx=None, set_split_strategy_by_size=None)
if int(tf.__version__[0]) == 1:
    add("npu_bridge.tf_adapter")
    add("npu_bridge.helper.helper", npu_bridge_handle=Native("ops"), version="v1.15.0", get_gen_ops=lambda: Native("ops"))
    import importlib.util
    import npu_bridge
    npu_bridge.tf_adapter = sys.modules["npu_bridge.tf_adapter"]
else:
    import contextlib
    add("npu_device._npu_device_backends", Open=lambda *a: "", GetDeviceSatMode=lambda: 1)
    tf.load_op_library = lambda path: Native("ops")
"""

ASK = """
def ask(text):
    try:
        found = eval(text)
        print(text, "->", found if isinstance(found, (str, int, float, bool, dict, list, type(None))) else type(found).__name__)
    except Exception as error:
        print(text, "-> raises", type(error).__name__, str(error).replace(chr(10), " "))
"""
FIRST = (
    ASK
    + """
import os
import tensorflow as tf
from npu_bridge.npu_init import *
from npu_bridge.estimator.npu import npu_hook, npu_config
CONFIG = "npu_config_proto({})"
for given in ("", "tf.ConfigProto(log_device_placement=True)", "7", "tf.ConfigProto(intra_op_parallelism_threads=2)"):
    ask("str(" + CONFIG.format(given) + ")")
ask("str(npu_config_proto(npu_config_proto()))")
ask("str(npu_graph_options())")
ask("str(npu_optimizer_options())")
ask("str(npu_run_config_init().session_config)")
ask("str(npu_run_config_init(tf.estimator.RunConfig(save_summary_steps=7)).save_summary_steps)")
ask("experimental_options")
ask("len(npu_hooks_append([1]))")
ask("len(npu_hooks_append((1, 2)))")
ask("len(npu_callbacks_append())")
ask("get_npu_rank_id()")
for given in ("", "iterations_per_loop=0", "iterations_per_loop=1.5", "mix_compile_mode=1", "jit_compile=True",
              "mix_compile_mode=True, iterations_per_loop=2", "horovod_mode=1", "graph_run_mode=2", "graph_run_mode=-1",
              "dump_config=3", "enable_exception_dump='x'", "nothing=1"):
    ask("NPURunConfig(" + given + ")")
ask("NPURunConfig().save_checkpoints_steps")
ask("NPURunConfig(save_checkpoints_secs=60).save_checkpoints_steps")
ask("NPURunConfig(3).iterations_per_loop")
ask("NPURunConfig(model_dir='x').model_dir")
ask("NPUEstimator(lambda features: 0)")
ask("NPUEstimator(lambda features: 0, config=tf.estimator.RunConfig())")
ask("NPUEstimator(lambda features: 0, config=NPURunConfig())")
ask("NPUEstimatorSpec('train', loss=tf.constant(1.0), train_op=tf.no_op(), host_call=3)")
ask("NPUEstimatorSpec('train', loss=tf.constant(1.0), train_op=tf.no_op(), host_call=(3, []))")
ask("npu_config.GraphMemoryOptimizeConfig(recompute='x')")
ask("npu_config.ExperimentalConfig(graph_memory_optimize_config=3)")
os.environ["TF_CONFIG"] = '{"cluster": {"chief": ["a:1"], "ps": ["b:1"]}, "task": {"type": "chief", "index": 0}}'
os.environ["JOB_ID"] = "1"
servers = tf.distribute.experimental.ParameterServerStrategy()
# What NPU906 writes for parameter servers, and what was there before.
SERVERS = "NPURunConfig(model_dir='o', distribute=servers, save_checkpoints_steps=5, mix_compile_mode=True, iterations_per_loop=1, save_summary_steps=100)"
ask(SERVERS + ".save_summary_steps")
ask(SERVERS)
ask("NPURunConfig(model_dir='o', distribute=servers)")
ask("NPURunConfig(model_dir='o')")
del os.environ["TF_CONFIG"], os.environ["JOB_ID"]
ask("util.set_iteration_per_loop(None, tf.constant(1), 2)")
ask("util.set_iteration_per_loop(None, tf.no_op(), 0)")
ask("util.check_aoe_mode('3')")
ask("util.check_bool_type(1, 'x')")
ask("util.get_ranksize()")
ask("TellMeStepOrLossHook()")
ask("npu_ops.dropout(tf.constant(1), 0.5)")
ask("npu_ops.dropout(tf.constant(1.0), 2.0)")
ask("npu_distributed_optimizer_wrapper(tf.train.AdamOptimizer()).__class__.__name__")
ask("npu_distributed_optimizer_wrapper('adam').__class__.__name__")
ask("NPUDistributedOptimizer(tf.train.AdamOptimizer()).get_name()")
ask("npu_plugin.npu_resource_init(graph_run_mode=2)")
ask("npu_plugin.npu_resource_init(enable_profiling=True)")
ask("npu_plugin.npu_resource_init(aoe_mode='3')")
ask("npu_strategy.NPUStrategy('/gpu:0')")
with tf.Session() as session_:
    ask("[one.name for one in session_._config.graph_options.rewrite_options.custom_optimizers]")
"""
)
SECOND = (
    ASK
    + """
import os
import npu_device as npu
import tensorflow as tf
o = npu.global_options
for text in ("setattr(o(), 'presicion_mode', 1)", "setattr(o(), 'precision_mode_v2', 'fp8')", "setattr(o(), 'jit_compile', True)",
             "setattr(o(), 'precision_mode_v2', 'fp16')", "setattr(o(), 'hcom_parallel', 3)", "setattr(o(), 'deterministic', 2)",
             "setattr(o().dump_config, 'enable_dump', True)", "setattr(o().dump_config, 'enable', True)",
             "setattr(o().experimental, 'x', True)", "setattr(o().aoe_config, 'aoe_mode', '3')",
             "setattr(o().memory_config, 'atomic_clean_policy', 1)", "setattr(o(), 'op_debug_level', 9)",
             "o().precision_mode_v2.value", "o().hcom_parallel.value", "o().graph_run_mode.default"):
    ask(text)
ask("sorted(o().as_dict().items())")
ask("npu.distribute.shard_and_rebatch_dataset(3, 8)")
ask("npu.distribute.all_reduce([1, 2])")
ask("npu.distribute.broadcast([1])")
os.environ.update(RANK_SIZE="2", CM_WORKER_SIZE="2")
ask("npu.open()")
del os.environ["CM_WORKER_SIZE"]
ask("npu.open()")
os.environ["RANK_TABLE_FILE"] = "x"
ask("npu.open()")
os.environ["CM_CHIEF_IP"] = "1.2.3.4"
ask("npu.open()")
del os.environ["RANK_TABLE_FILE"]
ask("npu.open()")
del os.environ["CM_CHIEF_IP"], os.environ["RANK_SIZE"]
ask("npu.open().name()")
ask("npu.open(1)")
ask("npu.open().workers_num")
ask("npu.open().is_cluster_worker()")
ask("npu.open().as_default().worker_id")
ask("tf.function(lambda: 1, jit_compile=True)._jit_compile")
ask("npu.npu_run_context(3).__enter__()")
ask("str(npu.compat.v1.SessionConfigBuilder().session_config)")
ask("npu.distribute.npu_distributed_keras_optimizer_wrapper('sgd').__class__.__name__")
ask("npu.train.optimizer.NpuLossScaleOptimizer(tf.keras.optimizers.SGD()).__class__.__name__")
"""
)


def answers(version: str, folder: Path, text: str, *, real: bool) -> list[str]:
    program = folder / ("real.py" if real else "ours.py")
    program.write_text(f"ADAPTER = {ADAPTER!r}\n{STUBS}{text}" if real else text)
    python = python_with(version)
    start = (
        [python]
        if real
        else [sys.executable, "-m", "npuify", "simulate", "--framework", "tensorflow", "--python", python]
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("RANK_", "CM_", "JOB_"))}
    environ.update(TF_CPP_MIN_LOG_LEVEL="3", **({} if real else {"PYTHONPATH": str(ROOT / "src")}))
    done = subprocess.run(
        [*start, str(program)], capture_output=True, text=True, check=False, env=environ, cwd=folder, timeout=240
    )
    assert " -> " in done.stdout, done.stderr[-2000:]
    assert done.returncode == 0, done.stderr[-2000:]
    return [_in_order(line) for line in done.stdout.splitlines() if " -> " in line]


def _in_order(line: str) -> str:
    """The list of all options is sorted: our table has no order of its own."""
    head, found, options = line.partition("all options ")
    return f"{head}{found}{sorted(options.strip('[]').split(', '))}" if found else line


@pytest.mark.parametrize(("version", "text"), [("1.15", FIRST), ("2.6", SECOND)], ids=["1.15", "2.6"])
def test_the_stand_in_answers_as_the_vendor_does(tmp_path: Path, version: str, text: str) -> None:
    theirs = answers(version, tmp_path, text, real=True)
    ours = answers(version, tmp_path, text, real=False)
    assert len(theirs) > 30
    different = [f"{a}\n    ours: {b.partition(' -> ')[2]}" for a, b in zip(theirs, ours, strict=True) if a != b]
    assert not different, "\n".join(different)
