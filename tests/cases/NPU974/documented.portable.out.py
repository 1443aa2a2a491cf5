import tensorflow as tf
import torch

tf.config.set_visible_devices([], "GPU")

records = tf.data.TFRecordDataset("train.records")
model = torch.nn.Linear(4, 4)
