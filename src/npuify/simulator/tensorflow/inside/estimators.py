"""NPUEstimator, NPURunConfig and what they take.

What is refused, with which words, and which hooks a model gets is after
hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/estimator/npu/npu_estimator.py and npu_config.py, in own words.
"""

from __future__ import annotations

import json
import os
from enum import Enum
from typing import Any

from npuify.simulator.tensorflow.inside import hooks, journal, loops, sessions, tables, world
from npuify.simulator.tensorflow.inside.framework import tf, tf1

_CONFIG = "npu_bridge.estimator.npu.npu_config"
_TO_TENSORFLOW = (
    "model_dir tf_random_seed save_summary_steps save_checkpoints_steps save_checkpoints_secs session_config "
    "keep_checkpoint_max keep_checkpoint_every_n_hours log_step_count_steps train_distribute eval_distribute"
).split()
_OWN_TYPES = ("dump_config", "experimental_config", "dynamic_input_config")


class _Settings:
    """A class of settings, which takes what the real one takes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.settings = tables.arguments("npu_bridge", f"{_CONFIG}.{type(self).__name__}", args, kwargs)
        self.check()

    def check(self) -> None:
        """Refuses values."""


class ProfilingConfig(_Settings):
    """What to profile."""


class MemoryConfig(_Settings):
    """How memory is used."""


class DumpConfig(_Settings):
    """What to dump."""


class DynamicInputConfig(_Settings):
    """Shapes that change."""


class GraphMemoryOptimizeConfig(_Settings):
    """Recomputation."""

    def check(self) -> None:
        """As there."""
        for name, value in self.settings.items():
            if value is not None and value not in ("auto", "manual"):
                raise ValueError(f"{name} should be in ['auto', 'manual']")


class ExperimentalConfig(_Settings):
    """What may change."""

    def check(self) -> None:
        """As there."""
        given = self.settings["graph_memory_optimize_config"]
        if given is not None and not isinstance(given, GraphMemoryOptimizeConfig):
            raise ValueError("graph_memory_optimize_config type must be GraphMemoryOptimizeConfig")


class NpuExecutePlacement(Enum):
    """Where an operator runs."""

    ALL = "all"
    CUBE = "cube"
    VECTOR = "vector"
    TAISHAN = "taishan"
    DVPP = "dvpp"
    HOST = "host"


class NPURunConfig(tf1.estimator.RunConfig):
    """A RunConfig whose parameters are in another order than TensorFlow's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        every = tables.arguments("npu_bridge", f"{_CONFIG}.NPURunConfig", args, kwargs)
        plain = tables.arguments("npu_bridge", f"{_CONFIG}.NPURunConfig", (), {})
        given = {name: value for name, value in every.items() if value is not plain[name] and value != plain[name]}
        self._check(every)
        for name in ("iterations_per_loop", "mix_compile_mode", "horovod_mode", "graph_run_mode"):
            setattr(self, name, every[name])
        self._npuify_options = {k: _shown(v) for k, v in given.items() if k not in _TO_TENSORFLOW}
        if every["save_checkpoints_secs"] is None and every["save_checkpoints_steps"] is None:
            every["save_checkpoints_steps"] = 100
        passed = {name: every[name] for name in _TO_TENSORFLOW}
        distribute = every["distribute"]
        if distribute is not None:
            from tensorflow.python.distribute.distribute_config import DistributeConfig

            passed["experimental_distribute"] = DistributeConfig(distribute, distribute, None)
        super().__init__(**passed)

    @staticmethod
    def _check(given: dict[str, Any]) -> None:
        loops.check_positive_integer(given["iterations_per_loop"], "iterations_per_loop")
        mixed = given["mix_compile_mode"]
        if not isinstance(mixed, bool):
            raise TypeError('"mix_compile_mode" type must be bool')
        if mixed and given["iterations_per_loop"] != 1:
            raise ValueError('"iterations_per_loop" must be 1 with "mix_compile_mode" is True')
        if not isinstance(given["jit_compile"], str):
            raise TypeError("Expected str, got " + type(given["jit_compile"]).__name__)
        cluster = json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster")
        # Asked for by class: contrib's own strategy of the same name is refused.
        servers = isinstance(given["distribute"], tf1.distribute.experimental.ParameterServerStrategy)
        if bool(cluster) != servers:
            raise ValueError('"cluster" and "distribute" must all be set in ps mode')
        if cluster and not mixed:
            raise ValueError('"mix_compile_mode" can only be True with "cluster" is set')
        if not isinstance(given["horovod_mode"], bool):
            raise ValueError('"horovod_mode" type must be bool')
        loops.check_nonnegative_integer(given["graph_run_mode"], "graph_run_mode")
        if given["graph_run_mode"] > 1:
            raise ValueError('"graph_run_mode" value must be 0 or 1')
        loops.check_nonnegative_integer(given["enable_exception_dump"], "enable_exception_dump")
        for name, kind in zip(_OWN_TYPES, (DumpConfig, ExperimentalConfig, DynamicInputConfig)):
            if given[name] is not None and not isinstance(given[name], kind):
                raise ValueError(f"`{name}` must be provided with type `{kind.__name__}`")


def _shown(value: Any) -> Any:
    return value.settings if isinstance(value, _Settings) else value


class NPUEstimatorSpec(tf1.estimator.EstimatorSpec):
    """An EstimatorSpec with a call of the host's after each step."""

    def __new__(cls, mode: Any, *args: Any, host_call: Any = None, **kwargs: Any) -> Any:
        """As the estimator's own."""
        if host_call is not None:
            if not isinstance(host_call, (tuple, list)):
                raise ValueError("host_call should be tuple or list")
            if len(host_call) != 2:
                raise ValueError("host_call should have two elements.")
            if not callable(host_call[0]):
                raise TypeError("host_call[0] should be callable.")
            if not isinstance(host_call[1], (tuple, list, dict)):
                raise ValueError("host_call[1] should be tuple or list, or dict.")
        made = super().__new__(cls, mode, *args, **kwargs)
        made._host_call = host_call
        return made


class _HostCall(tf1.train.SessionRunHook):
    """Runs the host's call beside each step."""

    def __init__(self, call: Any) -> None:
        function, tensors = call
        self._made = function(**tensors) if isinstance(tensors, dict) else function(*tensors)

    def before_run(self, run_context: Any) -> Any:
        """With the step's own tensors."""
        return tf1.train.SessionRunArgs(self._made)


class NPUEstimator(tf1.estimator.Estimator):
    """An estimator whose model gets the adapter's hooks: it broadcasts by itself where there are several ranks."""

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        job_start_file: str = "",
        warm_start_from: Any = None,
    ) -> None:
        if config is None or not isinstance(config, NPURunConfig):
            raise ValueError("`config` must be provided with type `NPUConfigs`")
        if not os.path.isfile(job_start_file) and not os.getenv("JOB_ID", ""):  # noqa: PTH113 - as there
            raise ValueError("Load job info failed, please check whether `JOB_ID` is set in environment variable")
        if model_dir is not None and config.model_dir is not None and model_dir != config.model_dir:
            raise ValueError(
                "model_dir are set both in NPUEstimator and NPURunConfig, but with different values. "
                f"In constructor: '{model_dir}', in NPURunConfig: '{config.model_dir}' "
            )
        session_config = sessions.npu_config_proto(config.session_config)
        _carry(session_config, config)
        config = config.replace(session_config=session_config) if config.session_config is None else config
        journal.note("estimator", options=config._npuify_options)
        model_dir = model_dir or config.model_dir
        if model_dir is None:
            import tempfile

            model_dir = tempfile.mkdtemp(prefix="model_dir_", dir=os.getcwd())  # noqa: PTH109
        self._npuify_model = model_fn
        super().__init__(
            model_fn=self._augmented(model_fn, config),
            model_dir=model_dir,
            config=config,
            params=params or {},
            warm_start_from=warm_start_from or os.getenv("RESTORE_FROM"),
        )

    @staticmethod
    def _augmented(model_fn: Any, config: Any) -> Any:
        from tensorflow.python.util import function_utils

        wanted = function_utils.fn_args(model_fn)

        def model(features: Any, labels: Any, mode: Any, params: Any) -> Any:
            given = {"labels": labels, "mode": mode, "params": params, "config": config}
            spec = model_fn(features=features, **{k: v for k, v in given.items() if k in wanted})
            added: list[Any] = []
            call = getattr(spec, "_host_call", None)
            if mode == tf1.estimator.ModeKeys.TRAIN:
                if world.size() > 1 and not config.horovod_mode:
                    added.append(hooks.NPUBroadcastGlobalVariablesHook(0, journal.rank()))
                if config.iterations_per_loop > 1:
                    train_op = tf.group(spec.train_op, name="IterationOp")
                    loops.repeat(train_op, config.iterations_per_loop)
                    spec = spec._replace(train_op=train_op)
                if call is not None:
                    added.append(_HostCall(call))
                return spec._replace(training_hooks=(*added, *(spec.training_hooks or ())))
            if mode == tf1.estimator.ModeKeys.EVAL and call is not None:
                return spec._replace(evaluation_hooks=(_HostCall(call), *(spec.evaluation_hooks or ())))
            return spec

        return model


def _carry(session_config: Any, config: Any) -> None:
    """The options of the configuration travel in the session's."""
    for one in session_config.graph_options.rewrite_options.custom_optimizers:
        if one.name == sessions.OPTIMIZER:
            for name, value in config._npuify_options.items():
                if isinstance(value, bool):
                    one.parameter_map[name].b = value
                elif isinstance(value, int):
                    one.parameter_map[name].i = value
                elif isinstance(value, str):
                    one.parameter_map[name].s = value.encode()


class NPUSaver(tf1.train.Saver):
    """TensorFlow's."""


def model_to_npu_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    checkpoint_format: str = "saver",
    config: Any = None,
    job_start_file: str = "",
) -> Any:
    """An NPUEstimator of a Keras model."""
    made = tf1.keras.estimator.model_to_estimator(
        keras_model=keras_model,
        keras_model_path=keras_model_path,
        custom_objects=custom_objects,
        model_dir=model_dir,
        config=tf1.estimator.RunConfig(model_dir=model_dir),
        checkpoint_format=checkpoint_format,
    )
    return NPUEstimator(
        model_fn=made._model_fn,
        model_dir=model_dir,
        config=config,
        job_start_file=job_start_file,
        warm_start_from=made._warm_start_settings,
    )


class NPUStrategy(tf1.distribute.OneDeviceStrategy):
    """A strategy with one device."""

    def __init__(self, device: str = "/cpu:0") -> None:
        if device != "/cpu:0":
            raise ValueError('"device" only support "/cpu:0"')
        super().__init__(device)
