"""The compiled device: building it, and loading it into this process."""
