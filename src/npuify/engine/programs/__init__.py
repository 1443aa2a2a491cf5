"""The programs of a project, and what each reaches."""
