"""One shell script, or a part of another file that a shell runs: its commands, variables and words, with their places.

tree-sitter reads the structure, broken scripts included. Every character of a word knows the bytes that it is written
with, so that a part of a word can be replaced inside its quotes.
"""

from npuify.source.shell.reader import read
from npuify.source.shell.script import UNKNOWN, Assignment, Command, Comparison, Heredoc, Script, Use, Word

__all__ = ["UNKNOWN", "Assignment", "Command", "Comparison", "Heredoc", "Script", "Use", "Word", "read"]
