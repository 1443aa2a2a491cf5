"""What is known about TensorFlow on NPUs: the adapter's names and options, and what becomes of code for GPUs."""
