"""``npuify checklist`` and ``npuify skill``: what is handed over with a migrated project."""
