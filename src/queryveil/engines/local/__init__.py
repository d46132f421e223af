"""The local engine: DuckDB reads and cleans a log within a memory limit."""
