"""One parsed file: text, tree, scopes, qualified names. Nothing of the scanned project is ever imported or run."""
