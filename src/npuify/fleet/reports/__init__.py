"""What a run of a fleet comes to: as a page, text, JSON, CSV and Parquet."""
