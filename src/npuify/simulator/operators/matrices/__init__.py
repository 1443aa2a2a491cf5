"""Products of matrices: grouped, quantised, and with collectives."""
