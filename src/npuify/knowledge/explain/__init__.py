"""What the tables say of a name or a package: the answers of ``npuify explain``."""
