"""What ``npuify selftest`` saw on machines with NPUs: the form of its results, and the facts that were learned from
them."""
