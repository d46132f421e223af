"""Topics that people search for, declared as parts of WordNet, with the words people add to queries about each.

A topic's header gives its name, how many people care for it relative to the other topics, and its roots: nouns with
the number of the sense meant. Every noun below a root belongs to the topic. The indented line lists the companions:
words that people add to any query about the topic.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from queryveil.lexicons.wordnet import NOUN, WordNet, load_wordnet

_SHORTEST = 3

_EVERYDAY = """
food, 9: dish 2, dessert 1, beverage 1, food 2
    recipe, recipes, easy, homemade, restaurant, calories, cooking, low fat, diet, crock pot, nutrition
music, 9: music 1, musical instrument 1, musician 1
    lyrics, songs, mp3, download, concert, band, tabs, sheet music, chords, cd, lessons, videos
sports, 8: sport 1, athlete 1, sports equipment 1
    scores, team, schedule, tickets, league, rules, coach, high school, stats, tournament, drills
cars, 7: motor vehicle 1, auto part 1, car 1
    used, parts, dealer, for sale, prices, insurance, rental, repair, recall, accessories, blue book
clothing, 7: clothing 1, footwear 1, bag 4
    womens, mens, cheap, plus size, discount, store, kids, leather, vintage, designer, outlet, size chart
computers, 7: computer 1, software 1, electronic equipment 1
    download, driver, wireless, laptop, repair, free trial, digital, windows xp, upgrade, tutorial, error
home, 7: furniture 1, room 1, home appliance 1
    ideas, discount, design, decorating, store, antique, remodeling, plans, oak, installation, colors
travel, 7: hotel 1, journey 1, vacation 1, aircraft 1
    cheap, flights, tickets, deals, map, reservations, packages, airlines, all inclusive, last minute
pets, 6: dog 1, cat 1, bird 1, domestic animal 1, horse 1
    puppies, breeders, training, adoption, rescue, health, cages, for sale, names, behavior, pictures
films, 6: movie 1, television program 1, performer 1
    cast, dvd, showtimes, trailer, episodes, theater, awards, reviews, script, soundtrack
houses, 6: dwelling 1, building 1
    for sale, for rent, real estate, floor plans, listings, mortgage, foreclosures, kits, appraisal, builder
work, 6: skilled worker 1, professional 1
    jobs, salary, resume, openings, career, union, license, training, part time, interview questions
school, 6: academic degree 1, school 1, science 1
    college, online, homework, scholarships, university, lesson plans, test, grants, distance learning
games, 5: game 1, game 3, toy 1
    cheats, online, play, codes, kids, collectible, rules, free, walkthrough
garden, 5: flower 1, vegetable 1, vegetable 2, tool 1
    seeds, growing, care, nursery, organic, pictures, pruning, how to plant, bulbs, pests, soil
beauty, 5: jewelry 1, cosmetic 1, hairdo 1, gem 2
    short, styles, wholesale, tips, products, gold, silver, salon, handmade, how to, celebrity
family, 5: relative 1, infant 1
    names, shower, gifts, family tree, obituary, poems, genealogy, birthday, ancestors, cemetery, reunion
outdoors, 4: boat 1, outdoor sport 1, fish 1
    fishing, camping, gear, charter, state park, license, lake, trails, season, guides, used
books, 4: book 1, literary composition 1, writer 1
    summary, author, quotes, reviews, club, characters, children, first edition, online, analysis
weather, 4: weather 1, storm 1, natural phenomenon 1
    forecast, radar, warning, local, pictures, five day, damage, facts, channel
crafts, 4: fabric 1, handicraft 1, decoration 1
    patterns, supplies, quilt, how to make, free, ideas, sewing, wholesale, christmas, stencils
government, 3: government 1, legal document 1, election 1
    forms, office, county, records, state, laws, results, free sample, federal, application
weapons, 2: weapon 1
    for sale, antique, permit, history, parts, ammo, laws, collectors, replica
astronomy, 2: celestial body 1, chemical element 1
    facts, pictures, science project, discovery, distance
"""
_SENSITIVE = """
disease, 5: disease 1, symptom 1, injury 1
    symptoms, treatment, cure, support group, causes, pictures of, stages, life expectancy, in children, surgery
mind, 3: mental disorder 1, emotion 1
    test, help, therapy, medication, signs of, support, suicide, in teens, counseling, hospital
intimacy, 4: birth control 1, contraceptive 1, sexual desire 1, pregnancy 1, venereal disease 1
    dating, singles, sex, adult, affair, test, advice, clinic, personals, cheating husband, unprotected, gay
religion, 4: religion 1, religion 2, religious ceremony 1, clergyman 1
    church, bible, prayer, meaning of, beliefs, conversion, music, study, history, retreat
drugs, 3: drug of abuse 1, narcotic 1, medicine 2
    side effects, rehab, withdrawal, dosage, drug test, overdose, online pharmacy, detox, street price
crime, 3: crime 1
    records, arrest, lawyer, sentence, statistics, statute of limitations, penalty for, victims, registry, bail
money trouble, 4: debt 2, loan 1, tax 1, poverty 1, insurance 1
    bad credit, consolidation, bankruptcy, payday, foreclosure, help, unpaid, calculator, rates, eviction
"""


@dataclass(frozen=True, eq=False)
class SearchTopic:
    """One field of interest."""

    name: str
    interest: float  # how many people care, relative to other topics
    roots: list[str]
    companions: list[str]
    is_sensitive: bool


def _parse(table: str, is_sensitive: bool) -> Iterator[SearchTopic]:
    """Yield the topics of a table."""
    for name, interest, roots, companions in re.findall(r"(.+), (\d+): (.+)\n +(.+)", table):
        yield SearchTopic(name, float(interest), roots.split(", "), companions.split(", "), is_sensitive)


TOPICS = (*_parse(_EVERYDAY, is_sensitive=False), *_parse(_SENSITIVE, is_sensitive=True))


def topic_phrases(n: int) -> list[list[str]]:
    """Return the n most familiar words and phrases of every topic, the most familiar first."""
    return [list(_ranked(topic)[:n]) for topic in TOPICS]


@cache
def _ranked(topic: SearchTopic) -> tuple[str, ...]:
    """Rank the words of a topic by how often WordNet's glosses use them.

    A word belongs to the topic if its first sense does: "port" is a harbour before it is a wine.
    """
    wordnet = load_wordnet()
    numbered = [root.rpartition(" ") for root in topic.roots]
    roots = [int(wordnet.synsets(lemma, NOUN)[int(number) - 1]) for lemma, _, number in numbered]
    found = {
        lemma
        for synset in _below(wordnet, roots)
        for lemma in wordnet.word_lemmas[wordnet.word_indptr[synset] : wordnet.word_indptr[synset + 1]].tolist()
        if wordnet.sense_synsets[wordnet.sense_indptr[lemma]] == synset
    }
    usable = [lemma for lemma in found if _is_searchable(wordnet, wordnet.lemmas[lemma])]
    return tuple(wordnet.lemmas[lemma] for lemma in sorted(usable, key=lambda x: (-wordnet.gloss_counts[x], x)))


def _below(wordnet: WordNet, roots: list[int]) -> set[int]:
    """Collect the roots and all kinds below them; instances (single people, places) stay out."""
    found = set(roots)
    frontier = roots
    while frontier:
        children = {child for synset in frontier for child in wordnet.hyponyms(synset).tolist()} - found
        frontier = [child for child in children if not wordnet.is_instance(child)]
        found.update(frontier)
    return found


def _is_searchable(wordnet: WordNet, lemma: str) -> bool:
    """Say whether people know all words of a lemma: WordNet's glosses use them."""
    ids = [wordnet.lemma_ids.get(word) for word in lemma.split(" ")]
    is_familiar = all(known is not None and wordnet.gloss_counts[known] for known in ids)
    return is_familiar and len(lemma) >= _SHORTEST and lemma.replace(" ", "").isalpha()
