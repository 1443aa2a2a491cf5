"""The data: made up here; put your own in its place."""

import numpy as np
import tensorflow as tf

FEATURES = 16
CLASSES = 4


def arrays(count, seed):
    """Points around a centre for each class."""
    centres = np.random.RandomState(7).randn(CLASSES, FEATURES)
    random = np.random.RandomState(seed)
    labels = random.randint(0, CLASSES, count)
    points = centres[labels] + 0.7 * random.randn(count, FEATURES)
    return points.astype("float32"), labels.astype("int32")


def training(device, count, batch_size, seed, epoch):
    """One epoch of batches of one size: another size would be compiled for the NPU anew.

    Each rank takes its share before anything is shuffled; the order depends on the epoch, so that a run that goes on
    sees what it would have seen.
    """
    points, labels = arrays(count, seed)
    dataset, batch_size = device.shard(tf.data.Dataset.from_tensor_slices((points, labels)), batch_size)
    dataset = dataset.shuffle(count, seed=seed + epoch)
    return dataset.batch(batch_size, drop_remainder=True).prefetch(2)


def validation(count, batch_size, seed):
    """All of it, on each rank: the last batch is filled up and weighted, so that its size is that of the others.

    Yields points, labels and the weights, 0 for what was filled up.
    """
    points, labels = arrays(count, seed + 1)
    missing = -count % batch_size
    points = np.concatenate([points, np.repeat(points[-1:], missing, axis=0)])
    labels = np.concatenate([labels, np.repeat(labels[-1:], missing)])
    weights = np.concatenate([np.ones(count, "float32"), np.zeros(missing, "float32")])
    dataset = tf.data.Dataset.from_tensor_slices((points, labels, weights))
    return dataset.batch(batch_size, drop_remainder=True)
