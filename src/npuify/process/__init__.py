"""How commands start a user's program: with which Python, by which command line, in which environment."""
