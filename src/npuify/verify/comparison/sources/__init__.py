"""What is compared: captures of npuify, and dumps of the vendor's msprobe."""
