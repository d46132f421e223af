"""Evaluation of personalised search: how much of the benefit of a person's own profile a group's profile keeps."""
