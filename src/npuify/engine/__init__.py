"""From a project to its findings: prefilter, parse, rules, processes, cache."""
