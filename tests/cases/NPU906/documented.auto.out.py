import tensorflow as tf

from npu_bridge.npu_init import npu_run_config_init

tf.logging.set_verbosity(tf.logging.INFO)
config = tf.estimator.RunConfig(model_dir="out")
estimator = tf.estimator.Estimator(model_fn=model, config=npu_run_config_init(run_config=config))
