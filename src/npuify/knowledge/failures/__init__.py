"""Tables of failures: codes, texts in logs, files that raise, and the causes that they point at."""
