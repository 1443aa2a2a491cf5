"""Many projects at once: each is examined apart, what is found goes into one store, and reports are made of that."""
