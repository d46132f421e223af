"""The release: a folder that stands whole or not at all, its manifest, and the private folder beside it."""
