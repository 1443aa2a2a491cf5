"""Is this machine ready: probes read it, checks judge it, a report says what to do.

Nothing is changed on the machine. Every probe asks through :class:`npuify.doctor.machine.Sight`, so a machine that was
captured elsewhere is judged by the same code.
"""
