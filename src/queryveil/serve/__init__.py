"""The web pages and the REST service: a face on the workflows, with no method of its own."""
