"""The two servers: pages with the REST service, and the search service alone."""
