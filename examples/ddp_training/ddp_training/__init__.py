"""A sequence tagger that trains on many GPUs."""
