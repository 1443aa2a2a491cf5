"""The version of npuify. It has a module of its own, so that rooms which print it need not import the whole package."""

__version__ = "0.1.0"
