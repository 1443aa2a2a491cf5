"""The catalogs of texts in other languages: what there is to translate, and whether it is."""
