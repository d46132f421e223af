"""What every layer builds on: errors, names, records, row arithmetic, progress, atomic files."""
