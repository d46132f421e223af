"""Reproductions of published evaluations: one folder per paper, with its tables and figures in the paper's shape."""
