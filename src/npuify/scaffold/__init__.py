"""New projects: a training program that does right what migrated programs often do wrong, to begin from or to read."""

from npuify.scaffold.training import FRAMEWORKS, STYLES, scaffold_training

__all__ = ["FRAMEWORKS", "STYLES", "scaffold_training"]
