"""What Liu and Wang 2010 print: their running example, and the few figures of the poster-length paper."""

PAPER = "Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010"

KS = (2, 5, 10, 20)
EPSILONS = (4, 6, 8)
TABLE_K = 5  # of Table I

# Figure 2(a): child, parent
TAXONOMY = (
    ("Edibles", "Goods"),
    ("Apparel", "Goods"),
    ("Alcohol", "Edibles"),
    ("Dairy", "Edibles"),
    ("Outer", "Apparel"),
    ("Footwear", "Apparel"),
    ("Wine", "Alcohol"),
    ("Vino", "Alcohol"),
    ("Raw-milk", "Dairy"),
    ("Homo-milk", "Dairy"),
    ("Jackets", "Outer"),
    ("Pants", "Outer"),
    ("Boots", "Footwear"),
    ("Shoes", "Footwear"),
)
# Figure 1(b), as the taxonomy's names are spelt
VOCABULARIES = (
    ("wine", "wine", "jackets", "boots"),
    ("vino", "vino", "jackets", "shoes"),
    ("wine", "vino", "raw-milk", "jackets", "shoes"),
    ("vino", "raw-milk", "raw-milk", "homo-milk"),
    ("raw-milk", "homo-milk", "homo-milk", "jackets", "pants"),
)
EXAMPLE_K, EXAMPLE_EPS = 2, 4
# Section II-B: the clusters' typical vocabularies, for t1 to t5
TYPICAL = (*["jackets:1, shoes:1, vino:1, wine:1"] * 3, *["homo-milk:1, raw-milk:2"] * 2)
# Sections III-A and III-B
DISTANCES = {("wine", "vino"): 2, ("wine", "jackets"): 6}
FIRST_TWO = 6  # distance of t1 and t2 by the first model

# Table I and section I-A: a user of the AOL log with 181 different terms
USER_TERMS, GENERALIZED_TERMS, GENERALIZED_LM = 181, 21, 0.12
SUPPRESSED = "over 90 %"
