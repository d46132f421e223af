"""Target functions: what an anonymisation tries to keep (Burghardt et al. 2010, section 4.1)."""

from queryveil.spec import Declaration

_HERE = "queryveil.methods.utilities"

DECLARATIONS = (
    Declaration("logsize", "occurrences of terms in the log", functions={"local": f"{_HERE}:logsize"}),
    Declaration("users", "people with something left", functions={"local": f"{_HERE}:users"}),
    Declaration("distinct", "distinct terms", functions={"local": f"{_HERE}:distinct"}),
    Declaration("file", "the value of terms in a file (--values: term, value)", functions={"local": f"{_HERE}:file"}),
    Declaration("fis", "frequent combinations: the term in the fewest of them goes"),
    Declaration("random", "nothing: a random term of the combination goes"),
)
