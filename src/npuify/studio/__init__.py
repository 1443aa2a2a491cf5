"""The page in the browser: reviews and commands over HTTP on this machine. It alone imports Starlette and uvicorn."""
