"""The Spark engine: PySpark reads, shuffles and writes; inside a task the local engine does the work."""
