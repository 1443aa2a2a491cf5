"""What a repository holds: its files and their kinds, its settings for npuify, and the torch that it asks for.

Nothing of the project is imported or executed here.
"""

from npuify.project.config import Config, load_config
from npuify.project.files import ProjectFile, common_root, find_files
from npuify.project.kinds import kind_of
from npuify.project.requirements import TorchRequirement, torch_requirement

__all__ = [
    "Config",
    "ProjectFile",
    "TorchRequirement",
    "common_root",
    "find_files",
    "kind_of",
    "load_config",
    "torch_requirement",
]
