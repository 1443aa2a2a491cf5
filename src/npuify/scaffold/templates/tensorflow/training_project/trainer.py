"""The training loop: a step that is a graph, checkpoints, validation."""

import math
import time

import tensorflow as tf

from training_project import data


class Trainer:
    """Trains a model.

    Args:
        device: see :class:`training_project.device.Device`.
        model: with all its variables.
        options: of the command line.
    """

    def __init__(self, device, model, options):
        self.device, self.model, self.options = device, model, options
        self.steps = options.samples // options.batch_size
        schedule = tf.keras.optimizers.schedules.CosineDecay(options.learning_rate, max(self.steps * options.epochs, 1))
        self.optimizer = tf.keras.optimizers.SGD(schedule, momentum=0.9)
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.epoch = tf.Variable(0, dtype=tf.int64, trainable=False)
        # The optimizer's own variables are made now, or the first graph would have to make them.
        self.optimizer.iterations  # noqa: B018
        self.optimizer._create_all_weights(model.trainable_variables)
        checkpoint = tf.train.Checkpoint(model=model, optimizer=self.optimizer, epoch=self.epoch)
        self.checkpoints = tf.train.CheckpointManager(checkpoint, options.output, max_to_keep=2)
        if options.resume and self.checkpoints.latest_checkpoint:
            checkpoint.restore(self.checkpoints.latest_checkpoint).assert_consumed()
        device.share(model.variables + self.optimizer.variables())

    @tf.function
    def step(self, points, labels):
        """One step; gradients are averaged over the ranks once, here."""
        with tf.GradientTape() as tape:
            loss = self.loss(labels, self.model(points, training=True))
        gradients = self.device.mean(tape.gradient(loss, self.model.trainable_variables))
        gradients, _ = tf.clip_by_global_norm(gradients, self.options.clip)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return self.device.mean(loss)

    @tf.function
    def count(self, points, labels, weights):
        """How many of a batch are right."""
        right = tf.equal(tf.argmax(self.model(points, training=False), axis=-1, output_type=tf.int32), labels)
        return tf.reduce_sum(tf.cast(right, tf.float32) * weights)

    def train(self):
        """Train to the last epoch.

        Returns:
            The mean loss of each epoch that was trained.
        """
        options, losses = self.options, []
        for epoch in range(int(self.epoch.numpy()), options.epochs):
            begun, seen = time.time(), []
            for points, labels in data.training(self.device, options.samples, options.batch_size, options.seed, epoch):
                seen.append(float(self.step(points, labels)))
                if not math.isfinite(seen[-1]):
                    raise SystemExit("the loss is {} in step {} of epoch {}".format(seen[-1], len(seen), epoch))
            losses.append(sum(seen) / len(seen))
            right = self.validate()
            self.epoch.assign(epoch + 1)
            # Every rank has the same variables; one of them writes. Nothing of the graph stands under this condition.
            if self.device.rank == 0:
                self.checkpoints.save(epoch + 1)
                speed = len(seen) * options.batch_size / (time.time() - begun)
                line = "epoch {} loss {:.6f} accuracy {:.4f} ({:.0f} samples/s)"
                print(line.format(epoch, losses[-1], right, speed), flush=True)
        return losses

    def validate(self):
        """The part of the validation data that is right. Every rank computes the whole."""
        options = self.options
        batches = data.validation(options.validation_samples, options.batch_size, options.seed)
        return sum(float(self.count(*batch)) for batch in batches) / options.validation_samples
