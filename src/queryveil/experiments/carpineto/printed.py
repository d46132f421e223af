"""What the paper says of its figures, which it shows as pictures only.

Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018, section 3.
"""

from queryveil.measures import CARPINETO

PAPER = CARPINETO
HEAVY_PEOPLE = 10_000  # drawn at random from those with more queries than the mean
MEAN_QUERIES = 44  # of AOL's people
SHARE_SENSITIVE = "about half"  # of the queries of heavy people, by the classifier
SHARE_PPP = "about 50 %"
KS = (1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100, 200, 300, 500, 700, 1000)  # the paper: from 1 to 1000
SIZES = (10.0, 20.0, 30.0, 40.0, 50.0)  # % of the queries of the log
STRONG = 0.85  # impressions, k and JSD correlate by more than this with one another, whatever the sign
ORDER = ("no-PPP", "k-anonymity", "only-PPP")  # by SPI, the most private first
