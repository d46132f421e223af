"""How sensitive a query is: naive Bayes over its words, kept as a table of word weights."""
