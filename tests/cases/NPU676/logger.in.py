import tensorflow as tf


class Logger:
    def __init__(self, folder):
        self.writer = tf.summary.FileWriter(folder)

    def scalar(self, tag, value, step):
        self.writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)]), step)
