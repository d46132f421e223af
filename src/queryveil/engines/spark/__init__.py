"""The engine for clusters: PySpark reads, shuffles and writes; what is done inside a task is the local engine's."""
