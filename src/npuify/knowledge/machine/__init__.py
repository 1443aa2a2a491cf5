"""Tables of chips, drivers and CANN, and of starting programs on many cards."""
