"""Speed and memory, always as ratios against a named baseline in the same run."""
