import tensorflow as tf
from tensorflow.contrib import learn
from tensorflow.contrib.boosted_trees.estimator_batch.estimator import GradientBoostedDecisionTreeRanker
from tensorflow.contrib.learn.python.learn.estimators.estimator import Estimator

from npu_bridge.npu_init import npu_run_config_init

model = tf.keras.models.Sequential([tf.keras.layers.Dense(1)])
config = tf.estimator.RunConfig(model_dir="out")
first = tf.keras.estimator.model_to_estimator(model, None, None, "out", npu_run_config_init(run_config=config))
second = tf.keras.estimator.model_to_estimator(keras_model=model, config=npu_run_config_init())
third = learn.Estimator(model_fn=fn, config=npu_run_config_init(run_config=learn.RunConfig(save_summary_steps=5)))
fourth = Estimator(fn, "out", config=npu_run_config_init())
fifth = learn.DNNClassifier(hidden_units=[3], feature_columns=[], config=npu_run_config_init())
sixth = tf.estimator.experimental.KMeans(num_clusters=2, config=npu_run_config_init())
seventh = GradientBoostedDecisionTreeRanker(head, trees, config=npu_run_config_init())
experiment = learn.Experiment(third, train_input_fn=data, eval_input_fn=data)
other = learn.LinearClassifier(**arguments)
saved = tf.contrib.estimator.SavedModelEstimator("out")
done = learn.SVM("id", config=npu_run_config_init(run_config=learn.RunConfig()))
