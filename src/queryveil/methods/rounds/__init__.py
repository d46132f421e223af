"""(k,m)-anonymity in rounds of questions and answers, so that no machine ever needs the whole log.

Histories stand in blocks, all histories of a person in one. In a round every block counts the combinations that its
own histories hold, a bucket adds up the counts of its combinations over all blocks, and tells each block which of
those it asked about are held by too few. Each history then deletes terms that hit all of these. A deletion only ever
lowers counts, so a count that is out of date never justifies a wrong one. What is still held by too few after the last
round goes by deleting terms from all histories at once, which can bring no other combination down.

At last terms are put back against a fixed snapshot: in an anonymous log an insertion whose combinations all have k
holders already only raises counts, so all histories may do it at the same time.

Nothing here knows of a cluster: `Block`, `ask`, `answer` and what a block does when told are plain functions, and an
exchange brings questions to buckets and answers to blocks.
"""
