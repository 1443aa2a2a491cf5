import tensorflow as tf

from npu_bridge.npu_init import npu_run_config_init

tf.logging.set_verbosity(tf.logging.INFO)


class Layer(tf.keras.layers.Layer):
    def __init__(self, **arguments):
        super().__init__(**arguments)


class Carried(tf.estimator.Estimator):
    def __init__(self, model_fn, config):
        super().__init__(model_fn=model_fn, config=npu_run_config_init(run_config=config))


class Plain(tf.estimator.Estimator):
    def __init__(self, model_fn, config):
        super().__init__(model_fn=model_fn, config=npu_run_config_init(run_config=config))


class WithoutConfig(tf.estimator.Estimator):
    def __init__(self, model_fn, folder):
        super(WithoutConfig, self).__init__(
            model_fn,
            model_dir=folder,  # the same
            config=npu_run_config_init(),
        )


class ByName(tf.estimator.Estimator):
    def __init__(self, model_fn, folder, config):
        tf.estimator.Estimator.__init__(self, model_fn, folder, npu_run_config_init(run_config=config))


class Canned(tf.estimator.DNNClassifier):
    def __init__(self, columns):
        super().__init__([3], columns, config=npu_run_config_init())


class BehindAnother(dict, tf.estimator.Estimator):
    def __init__(self, model_fn):
        super().__init__(model_fn)


class PassesOn(tf.estimator.Estimator):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


class TakesAll(tf.estimator.Estimator):
    pass
