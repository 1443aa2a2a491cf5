"""Sessions, their configuration, and starting and ending the NPU: what TensorFlow 1 programs write.

After hicann/tensorflow@82957b9:tf_adapter/python/npu_bridge/npu_init.py and npu_config.py, in own words.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import weakref
from typing import Any

from npuify.simulator.tensorflow.inside import journal, loops, world
from npuify.simulator.tensorflow.inside.framework import VERSION, config_pb2, rewriter_config_pb2, session, tf, tf1

OPTIMIZER = "NpuOptimizer"
_rewriter = rewriter_config_pb2.RewriterConfig
_open: Any = weakref.WeakSet()
_patched: list[bool] = []
_started: list[bool] = []

_ON = (
    "function_optimization constant_folding shape_optimization arithmetic_optimization loop_optimization "
    "dependency_optimization layout_optimizer"
).split()
experimental_options = {"disable_model_pruning": False, **dict.fromkeys(_ON, _rewriter.ON)}


def npu_config_proto(config_proto: Any = None) -> Any:
    """A session's configuration that names the adapter; what is no ConfigProto is replaced by an empty one."""
    if not isinstance(config_proto, config_pb2.ConfigProto):
        config_proto = config_pb2.ConfigProto()
    rewriting = config_proto.graph_options.rewrite_options
    if not any(one.name == OPTIMIZER for one in rewriting.custom_optimizers):
        rewriting.custom_optimizers.add().name = OPTIMIZER
        rewriting.memory_optimization = _rewriter.OFF
    config_proto.allow_soft_placement = True
    config_proto.log_device_placement = False
    rewriting.remapping = _rewriter.OFF
    config_proto.graph_options.optimizer_options.global_jit_level = config_pb2.OptimizerOptions.OFF
    return config_proto


def npu_graph_options(graph_options: Any = None) -> Any:
    """Graph options with XLA off."""
    if not isinstance(graph_options, config_pb2.GraphOptions):
        graph_options = config_pb2.GraphOptions()
    graph_options.optimizer_options.global_jit_level = config_pb2.OptimizerOptions.OFF
    return graph_options


def npu_optimizer_options(optimizer_options: Any = None) -> Any:
    """Optimizer options with XLA off."""
    if not isinstance(optimizer_options, config_pb2.OptimizerOptions):
        optimizer_options = config_pb2.OptimizerOptions()
    optimizer_options.global_jit_level = config_pb2.OptimizerOptions.OFF
    return optimizer_options


def npu_run_config_init(run_config: Any = None) -> Any:
    """An estimator's configuration whose sessions are the adapter's."""
    if not isinstance(run_config, tf1.estimator.RunConfig):
        run_config = tf1.estimator.RunConfig()
    run_config.__dict__["_session_config"] = npu_config_proto(run_config.session_config)
    return run_config


def set_npu_default_config(func: Any, args: Any, kwargs: Any) -> Any:
    """The arguments of a session's constructor, with the adapter in the configuration."""
    index = list(inspect.signature(func).parameters).index("config") - 1
    given = kwargs.get("config")
    if given is None and len(args) > index:
        given = args[index]
    kwargs["config"] = npu_config_proto(given)
    return args[:index] + args[index + 1 :], kwargs


def decorator_tf_session(func: Any) -> Any:
    """A session's constructor that always names the adapter."""

    @functools.wraps(func)
    def constructor(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = set_npu_default_config(func, args, kwargs)
        return func(self, *args, **kwargs)

    return constructor


def import_effect(module: Any) -> None:
    """What importing ``npu_init`` does: its names, and every later session is the adapter's."""
    module.__dict__.update(
        tf=tf if VERSION[0] == 1 else tf1,
        os=os,
        session=session,
        config_pb2=config_pb2,
        rewriter_config_pb2=rewriter_config_pb2,
        RewriterConfig=_rewriter,
        backend=tf1.keras.backend,
    )
    journal.note("import", module=module.__name__)
    if not _patched:
        _patched.append(True)
        session.Session.__init__ = decorator_tf_session(session.Session.__init__)
        session.InteractiveSession.__init__ = decorator_tf_session(session.InteractiveSession.__init__)
        _watch()


def _watch() -> None:
    """Record sessions: when they begin, what they are configured with, what they run, and whether they are closed."""
    base = session.BaseSession
    begin, run, close = base.__init__, base.run, base.close

    @functools.wraps(begin)
    def begun(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> Any:
        made = begin(self, target, graph, config)
        options = _options(config)
        if options is not None:
            _open.add(self)
            self._npuify_on_npu = True
            journal.count("sessions")
            journal.note("session", kind=type(self).__name__, options=options)
        return made

    @functools.wraps(run)
    def ran(self: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        if not getattr(self, "_npuify_on_npu", False):
            return run(self, fetches, feed_dict, options, run_metadata)
        world.start()
        repeated = loops.times(self.graph, fetches)
        journal.count("runs")
        if repeated > 1:
            journal.count("iterations", repeated)
            for _ in range(repeated - 1):
                run(self, fetches, feed_dict, options, run_metadata)
        return run(self, fetches, feed_dict, options, run_metadata)

    @functools.wraps(close)
    def closed(self: Any) -> Any:
        _open.discard(self)
        return close(self)

    base.__init__, base.run, base.close = begun, ran, closed
    atexit.register(_tell_open)


def _options(config: Any) -> Any:
    """The options that the adapter gets from a configuration; None where it does not name the adapter."""
    if config is None:
        return None
    for one in config.graph_options.rewrite_options.custom_optimizers:
        if one.name == OPTIMIZER:
            return {name: _value(value) for name, value in one.parameter_map.items()}
    return None


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind) if kind else None
    return found.decode(errors="replace") if isinstance(found, bytes) else found


def _tell_open() -> None:
    if _open:
        journal.tell(
            "session-open",
            f"sessions that were never closed: {len(_open)}; on a card their resources stay taken",
        )


def initialize_system(name: Any = None) -> Any:
    """The operation that starts the NPU."""
    if tf.executing_eagerly():
        raise RuntimeError("tf.NPUInit() is not compatible with eager execution.")
    return tf.numpy_function(_start, [], [], name=name or "NPUInit")


def shutdown_system(name: Any = None) -> Any:
    """The operation that ends it."""
    if tf.executing_eagerly():
        raise RuntimeError("tf.NPUShutdown() is not compatible with eager execution.")
    return tf.numpy_function(_stop, [], [], name=name or "NPUShutdown")


NPUInit, NPUShutdown = initialize_system, shutdown_system


def _start() -> None:
    journal.note("initialize")
    world.start()


def _stop() -> None:
    journal.note("shutdown")


def init_resource(config: Any = None) -> Any:
    """A session in which the NPU has been started, and the operation that ends it."""
    loops.global_dict_init()
    starting, ending = initialize_system(), shutdown_system()
    sess = session.Session(config=npu_config_proto(config))
    sess.run(starting)
    loops.set_value("npu_rank_id", world.get_rank_id())
    loops.set_value("npu_local_rank_id", world.get_local_rank_id())
    loops.set_value("npu_rank_size", world.get_rank_size())
    loops.set_value("npu_local_rank_size", world.get_local_rank_size())
    return sess, ending


def shutdown_resource(sess: Any, npu_shutdown: Any) -> None:
    """Ends the NPU."""
    sess.run(npu_shutdown)


def close_session(sess: Any) -> None:
    """Closes a session."""
    sess.close()


def get_npu_rank_id() -> Any:
    """What ``init_resource`` found."""
    return loops.get_value("npu_rank_id", 0)


def get_npu_local_rank_id() -> Any:
    """What ``init_resource`` found."""
    return loops.get_value("npu_local_rank_id", 0)


def get_npu_rank_size() -> Any:
    """What ``init_resource`` found."""
    return loops.get_value("npu_rank_size", 1)


def get_npu_local_rank_size() -> Any:
    """What ``init_resource`` found."""
    return loops.get_value("npu_local_rank_size", 1)


def set_keras_session_npu_config(config: Any = None) -> Any:
    """A session for Keras that is the adapter's."""
    sess = session.Session(config=npu_config_proto(config))
    tf1.keras.backend.set_session(sess)
    return sess


def npu_clear_session(config: Any = None) -> None:
    """Clears Keras's session, and sets one that is the adapter's."""
    tf1.keras.backend.clear_session()
    tf1.keras.backend.set_session(session.Session(config=npu_config_proto(config)))


class SessionConfigBuilder:
    """``npu_device.compat.v1.SessionConfigBuilder``."""

    def __init__(self, config: Any = None) -> None:
        self._config = config if isinstance(config, tf1.ConfigProto) else tf1.ConfigProto(allow_soft_placement=True)
        self._config.graph_options.rewrite_options.remapping = _rewriter.OFF
        self._optimizer = self._config.graph_options.rewrite_options.custom_optimizers.add()
        self._optimizer.name = OPTIMIZER

    @property
    def parameter_map(self) -> Any:
        """The options."""
        return self._optimizer.parameter_map

    @property
    def session_config(self) -> Any:
        """The configuration."""
        return self._config


def is_inf_nan_enabled() -> bool:
    """Whether overflow gives infinity, as on all chips but the first generation."""
    return not os.environ.get("NPUIFY_SIMULATE_SOC", "").startswith("Ascend910A")


def set_device_sat_mode(mode: Any) -> None:
    """Recorded."""
    journal.note("sat_mode", mode=mode)


def npu_close() -> None:
    """Ends the adapter."""
    journal.note("close")


def npu_resource_init(*args: Any, **kwargs: Any) -> None:
    """Starts the NPU without a session; options are checked as there."""
    from npuify.simulator.tensorflow.inside import tables

    place = "npu_bridge.estimator.npu.npu_plugin.npu_resource_init"
    given = tables.arguments("npu_bridge", place, args, kwargs)
    loops.check_nonnegative_integer(given["graph_run_mode"], "graph_run_mode")
    if given["graph_run_mode"] > 1:
        raise ValueError('"graph_run_mode" value must be 0 or 1')
    loops.check_bool_type(given["enable_profiling"], "enable_profiling")
    if given["enable_profiling"] and given["profiling_options"] is None:
        raise ValueError("profiling_options must be set when use profiling")
    if given["aoe_mode"] is not None:
        loops.check_aoe_mode(given["aoe_mode"])
    loops.check_bool_type(given["hcom_multi_mode"], "hcom_multi_mode")
    journal.note("initialize", options={k: v for k, v in given.items() if v is not None})
    world.start()


def npu_resource_shutdown() -> None:
    """Ends what :func:`npu_resource_init` started."""
    journal.note("shutdown")


def npu_keras_optimizer(opt: Any) -> Any:
    """A Keras optimizer that averages gradients."""
    from npuify.simulator.tensorflow.inside import optimizers

    return optimizers.KerasDistributeOptimizer(opt)


def npu_tf_optimizer(opt: Any) -> Any:
    """An optimizer that averages gradients."""
    from npuify.simulator.tensorflow.inside import optimizers

    return optimizers.NPUDistributedOptimizer(opt)
