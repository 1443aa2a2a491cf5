"""The claims, by area: each module makes them from the tables and rules that it is about, so that a new fact brings
its check."""
