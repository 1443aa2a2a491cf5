"""Rules for TensorFlow programs: 9xx. Each module holds the rules of one area."""
