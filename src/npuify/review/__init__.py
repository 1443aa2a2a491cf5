"""A migration under review: a person accepts or refuses its edits, writes by hand, takes back, and has it written."""

from npuify.review.decisions import Decisions, Key
from npuify.review.items import Item
from npuify.review.review import Review

__all__ = ["Decisions", "Item", "Key", "Review"]
