"""Methods on a cluster: PySpark moves what the plain functions of `methods.rounds` and of local methods make."""
