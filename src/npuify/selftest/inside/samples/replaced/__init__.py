"""Arguments for the modules in the place of kernels, by the folder in which the modules lie."""
