"""What a line of a log says: by the tables of texts and codes, and by the packages and releases that it names."""
