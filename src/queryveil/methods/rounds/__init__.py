"""(k,m)-anonymity in rounds of queries and replies, so that no machine ever needs the whole log.

Histories are divided into blocks, all histories of a person in one. In a round every block counts the combinations that
its own histories hold; a bucket adds up the counts of its combinations over all blocks, and replies to each block which
of its combinations are infrequent. Each history then deletes a hitting set of these. A deletion only ever lowers
counts, so an outdated count never justifies a wrong reply. Combinations that are still infrequent after the last round
are removed by deleting terms from all histories at once, which cannot make any other combination infrequent.

Finally, terms are reinserted against a fixed snapshot: in an anonymous log an insertion whose combinations all have k
holders already only raises counts, so all histories may do it at the same time. Nothing here depends on Spark: blocks,
queries and actions are plain objects, and an `Exchange` transports the messages.
"""
