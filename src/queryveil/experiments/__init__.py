"""The experiments of the papers: every table and figure in the paper's own shape, on a log at hand."""
