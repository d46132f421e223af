"""The release: a folder that appears in one step or not at all, its manifest, and its private folder."""
