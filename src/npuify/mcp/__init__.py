"""The server for coding agents: the public functions as tools of the Model Context Protocol. It alone imports mcp."""
