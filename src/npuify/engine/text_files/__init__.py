"""Files that are not Python: which rules see which part of them."""
