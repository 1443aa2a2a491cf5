"""Where the projects of a fleet are examined: processes on this machine, workers of a dask cluster."""
