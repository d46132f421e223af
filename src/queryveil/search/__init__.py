"""Full-text search: an index of documents, its tf-idf vectors, and re-ranking by a profile."""
