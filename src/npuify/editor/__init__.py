"""A project while it is edited: what is found in a file as it stands in an editor, and the edits that mend it."""
