"""Verifiers on a cluster, in plain data frame operations: they share nothing with the methods."""
