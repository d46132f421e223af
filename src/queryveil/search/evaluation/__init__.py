"""How much of the benefit of a person's own profile a group's profile keeps, judged by what both rank."""
