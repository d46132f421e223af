"""How sensitive a query is: naive Bayes over its words, stored as a table of word weights."""
