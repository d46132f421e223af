"""Commands on a cluster, end to end."""
