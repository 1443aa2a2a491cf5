"""A program to convert: its files, where its models and loaders come from, its training loops."""
