"""Estimators of TensorFlow 1, and the run configurations that they take."""
