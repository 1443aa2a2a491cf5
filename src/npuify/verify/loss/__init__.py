"""Two loss curves: read from what programs write, refused where they cannot be compared, judged, drawn."""
