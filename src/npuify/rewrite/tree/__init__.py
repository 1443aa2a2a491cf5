"""Writes a migrated project: a whole copy, or files in place; either completely or not at all."""

from npuify.rewrite.tree.destination import check_destination
from npuify.rewrite.tree.entries import skipped_entries
from npuify.rewrite.tree.in_place import fill_folder, replace_file, replace_files
from npuify.rewrite.tree.whole_copy import write_tree

__all__ = ["check_destination", "fill_folder", "replace_file", "replace_files", "skipped_entries", "write_tree"]
