"""Handing a migration on: the checklist of what was done and seen, and a guide to repeat it."""

from npuify.handover.checklist.points import Checklist, checklist
from npuify.handover.checklist.record import Record, read_record

__all__ = ["Checklist", "Record", "checklist", "read_record"]
