"""What the paper prints.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, TR-2010-007, Emory University, 2010. Of its figures
only one number stands in the text; the others are pictures without numbers.
"""

PAPER = "Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010"
PEOPLE, TERMS = 720, 150
PS = (0.1, 0.2, 0.3, 0.4)
LEVELS = (0, 1, 2, 3)  # a
USUAL_P, USUAL_A = 0.4, 1  # where the other one varies; which p figure 3 has is not said
AP = 78.86  # % at p = 0.4, a = 1: "average precision at top 10 relevant search results"

TABLE_1 = {
    "UP_1": {"kitten": 1.0, "riding": 0.8},
    "UP_2": {"pup": 0.6, "equitation": 1.0},
    "UP_3": {"mocha": 0.7, "java": 0.6, "coffee": 0.8},
    "UP_4": {"programming language": 0.6, "java": 1.0, "c++": 0.4},
}
TABLE_2 = {
    "kitten": ("kitten", "kitty"),
    "riding": ("riding", "horseback riding", "equitation"),
    "pup": ("pup", "whelp"),
    "equitation": ("riding", "horseback riding", "equitation"),
}
SIMILARITY = {0: 0.536, 1: 0.737}  # a → that of UP_1 and UP_2, tables 3 and 4
TABLE_4 = {
    "UP_1": (
        "({kitten, kitty}, 1), ({riding, horseback riding, equitation}, 0.8), ({young mammal}, 1), "
        "({sport, athletics}, 0.8)"
    ),
    "UP_2": (
        "({pup, whelp}, 0.6), ({riding, horseback riding, equitation}, 1), ({young mammal}, 0.6), "
        "({sport, athletics}, 1)"
    ),
}
TABLE_5 = {"G_1": ("UP_1", "UP_2"), "G_2": ("UP_3", "UP_4")}
EXAMPLE_P = 0.7  # any p from 0.625 up to 0.833 gives table 5
