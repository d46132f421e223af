"""The figures that the paper prints.

Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement – Balancing Privacy
with Economic Interests, 2010. In our terms, `bid` is the paper's max bid and `users` its user frequency.
"""

from queryveil.measures.utility.market import FREQUENCY, USERS

CITATION = "Burghardt, Böhm, Guttman, Clifton: Anonymous Search Histories Featuring Personalized Advertisement, 2010"
KS = (2, 10, 20, 40, 100)
MS = (2, 3)
GENERIC = ("distinct terms", "users", "log size")
SPECIFIC = ("bid", "clicks", "impressions", "revenue")

# The log after cleaning (section 5.1); the largest history is that of section 5.2.
LOG = {"users": 367_803, "distinct terms": 251_115, "occurrences": 5_501_825, "terms of the largest history": 495}

# combination → people who have it
TABLE_1 = {
    ("georgia",): 1380,
    ("arnold",): 167,
    ("lilburn",): 6,
    ("arnold", "georgia"): 15,
    ("lilburn", "georgia"): 5,
    ("arnold", "lilburn"): 1,
    ("arnold", "lilburn", "georgia"): 1,
}

# criterion → the term that is highest in it: its frequency, users, bid, impressions, clicks, revenue
TABLE_2: dict[str, tuple[str, tuple[float, ...]]] = {
    FREQUENCY: ("or", (142_041, 2170, 0.42, 56_574, 28, 12)),
    USERS: ("com", (74_453, 31_974, 0.69, 203_681, 549, 380)),
    "bid": ("MacMall", (4, 4, 919, 5775, 786, 722_334)),
    "impressions": ("ATT", (270, 146, 0.5, 5_009_356, 3747, 1874)),
    "clicks": ("Lowe's", (173, 101, 0.05, 491_515, 211_489, 10_575)),
    "revenue": ("AdultFriendFinder", (6, 3, 334, 10_020, 2742, 915_828)),
}

ROWS_3 = (FREQUENCY, USERS, "bid", "clicks", "impressions")
COLUMNS_3 = ("revenue", "impressions", "clicks", "bid", USERS)
# (row, column) → correlation, one-tailed significance, number of terms; significant where that is below 0.01
TABLE_3 = {
    (FREQUENCY, "revenue"): (0.002, 0.326, 64_694),
    (FREQUENCY, "impressions"): (0.111, 0.000, 117_916),
    (FREQUENCY, "clicks"): (0.024, 0.000, 64_694),
    (FREQUENCY, "bid"): (0.001, 0.348, 117_916),
    (FREQUENCY, USERS): (0.761, 0.000, 117_916),
    (USERS, "revenue"): (0.003, 0.259, 64_694),
    (USERS, "impressions"): (0.151, 0.000, 117_916),
    (USERS, "clicks"): (0.031, 0.000, 64_694),
    (USERS, "bid"): (0.002, 0.254, 117_916),
    ("bid", "revenue"): (0.579, 0.000, 64_694),
    ("bid", "impressions"): (0.002, 0.296, 117_916),
    ("bid", "clicks"): (-0.003, 0.225, 64_694),
    ("clicks", "revenue"): (0.040, 0.000, 64_694),
    ("clicks", "impressions"): (0.400, 0.000, 64_694),
    ("impressions", "revenue"): (0.020, 0.000, 64_694),
}

# iteration, term, size of combinations, frequency, state
TABLE_4 = (
    (1, "eugene", 3, 4, "keep term"),
    (1, "chicago", 3, 2, "candidate"),
    (1, "smith", 3, 2, "candidate"),
    (2, "chicago", 2, 4, "candidate"),
    (2, "smith", 2, 4, "candidate"),
    (3, "chicago", 1, 6, "keep term"),
    (3, "smith", 1, 4, "delete term"),
)

COLUMNS_5 = ("distinct terms", "log size", "users", *SPECIFIC)
# (m, k) → % kept, in the order of COLUMNS_5
TABLE_5 = {
    (2, 2): (10.88, 45, 95, 51, 85, 85, 61),
    (2, 10): (2.12, 29, 87, 33, 75, 71, 41),
    (2, 20): (1.09, 26, 83, 29, 71, 67, 36),
    (2, 40): (0.56, 23, 78, 25, 68, 63, 33),
    (2, 100): (0.18, 19, 70, 20, 61, 58, 27),
    (3, 2): (10.86, 37, 95, 42, 78, 76, 55),
    (3, 10): (2.12, 25, 87, 31, 71, 67, 43),
    (3, 20): (1.11, 23, 83, 28, 68, 64, 39),
    (3, 40): (0.56, 21, 78, 24, 65, 62, 35),
    (3, 100): (0.18, 18, 70, 19, 61, 57, 30),
}

DIFFERENCES = ("R", "W", "fis")
# (m, k) → for each measure of GENERIC the best result minus random's, minus the worst other's, minus that of fis
TABLE_6 = {
    (2, 2): ((0.00, 4.16, 4.08), (13, 2, 0), (2, 0, 0)),
    (2, 10): ((0.00, 0.92, 0.90), (11, 2, 0), (12, 1, 0)),
    (2, 20): ((0.00, 0.40, 0.39), (11, 2, 1), (17, 1, 0)),
    (2, 40): ((0.00, 0.16, 0.15), (11, 2, 1), (21, 2, 0)),
    (2, 100): ((0.00, 0.00, 0.14), (11, 2, 1), (28, 2, 0)),
    (3, 2): ((0.00, 4.18, 4.07), (10, 3, 0), (2, 0, 0)),
    (3, 10): ((0.00, 0.88, 0.77), (10, 2, 0), (12, 1, 0)),
    (3, 20): ((0.00, 0.31, 0.27), (10, 2, 1), (17, 1, 0)),
    (3, 40): ((0.00, 0.16, 0.14), (10, 2, 1), (21, 2, 0)),
    (3, 100): ((0.00, 0.02, 0.00), (10, 2, 1), (28, 2, 0)),
}
# likewise for SPECIFIC
TABLE_7 = {
    (2, 2): ((20, 13, 12), (28, 15, 8), (31, 9, 6), (20, 5, 5)),
    (2, 10): ((17, 13, 11), (34, 28, 13), (32, 14, 8), (16, 5, 5)),
    (2, 20): ((16, 12, 11), (35, 33, 15), (32, 15, 9), (16, 5, 5)),
    (2, 40): ((14, 11, 9), (38, 36, 18), (31, 16, 9), (15, 5, 5)),
    (2, 100): ((13, 9, 7), (37, 37, 19), (30, 16, 10), (15, 5, 5)),
    (3, 2): ((15, 14, 11), (32, 31, 12), (29, 16, 7), (21, 12, 10)),
    (3, 10): ((16, 14, 11), (39, 40, 21), (34, 19, 11), (22, 12, 12)),
    (3, 20): ((15, 13, 11), (40, 41, 24), (34, 19, 12), (21, 12, 12)),
    (3, 40): ((14, 11, 9), (40, 41, 25), (33, 20, 12), (19, 11, 11)),
    (3, 100): ((13, 9, 7), (39, 40, 25), (32, 19, 12), (19, 10, 10)),
}

# Section 5.2, seconds: the first pass over the log, except for (2,3) from (2,2), which is a complete run
FIRST_PASS = {(2, 2): 10_558, (5, 2): 461, (2, 3): 324_504, (5, 3): 2925}
FROM_2_2 = 23_722
PASSES = {2: 6.7, 3: 4.8}  # m → passes on average
