"""A clause, its check, and what a check works with: calls, arrays, failures, probes."""
