"""Measures: what a release keeps and what it gives away; one declaration each, the code is imported when it runs."""

from queryveil.spec import Declaration, Integer, Parameter

RETENTION = Declaration(
    name="retention",
    purpose="how much of the log the release keeps: distinct terms, log size, users and user-term pairs",
    paper="Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010",
    functions={"local": "queryveil.measures.utility.retention:compute"},
)

UNIQUE = Declaration(
    name="unique",
    purpose="the share of people whom m random terms of theirs single out",
    parameters=(Parameter("m", Integer(minimum=1, maximum=6), "how many terms of a person are known"),),
    functions={"local": "queryveil.measures.privacy.unique:compute"},
)

DECLARATIONS = (RETENTION, UNIQUE)
