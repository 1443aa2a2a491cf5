"""What serves others until it is stopped: a page in the browser, an editor, an agent."""
