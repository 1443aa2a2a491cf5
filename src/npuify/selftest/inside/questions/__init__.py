"""The questions that can be asked: a module each, functions that :mod:`npuify.selftest.inside.server` calls by name."""
