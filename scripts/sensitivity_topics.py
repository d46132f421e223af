"""The labels of the bundled model: topics defined by roots in WordNet and by words of glosses.

A root is a synset, written as lemma, part of speech and sense number (`illness n 1`); all its hyponyms belong to the
topic. Verbs, adjectives and adverbs have no deep hierarchy: they belong to a sensitive topic if their gloss contains
one of its words. A synset of both a sensitive and a neutral topic is sensitive.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from queryveil.lexicons.wordnet import ADJECTIVE, ADVERB, NOUN, VERB, WordNet, glosses, load_wordnet
from queryveil.logs.terms import terms

PARTS = {"n": NOUN, "v": VERB, "a": ADJECTIVE, "r": ADVERB}


@dataclass(frozen=True)
class Topic:
    """A topic: its roots in WordNet, and words whose presence in a gloss assigns a synset to it."""

    name: str
    is_sensitive: bool
    roots: str  # separated by commas
    gloss_words: str = ""
    without: str = ""  # roots whose hyponyms are excluded
    everyday: str = ""  # words that people type, which WordNet lacks or has under other topics


SENSITIVE = (
    Topic(
        "health",
        True,
        "illness n 1, disorder n 1, symptom n 1, mental disorder n 1, injury n 1, medicine n 2, medical procedure n "
        "1, medical care n 1, medical practitioner n 1, patient n 1, hospital n 1, clinic n 1, clinic n 3, "
        "pregnancy n 1, contraception n 1, contraceptive n 1, abortion n 1, birth n 3, infection n 1, death n 1, "
        "suicide n 1, medicine n 1, disability n 1, diet n 1, bodily process n 1, therapy n 1, nurse n 1, treat v "
        "3, diagnose v 1, suffer v 1, wound v 1, menstruation n 1, prescription n 2",
        gloss_words="disease symptom illness medical medicine patient pregnant pregnancy disorder depressed suicide",
        without="animal disease n 1, plant disease n 1, zoonosis n 1",
        everyday="hiv aids std herpes cancer diabetes depression anxiety bipolar adhd autism ocd ptsd obesity diet "
        "symptoms treatment therapy therapist counseling prozac zoloft xanax ritalin valium insulin chemo "
        "ivf fertility infertility abortion pregnancy pregnant miscarriage menopause doctor clinic "
        "hospital surgery botox disability anorexia bulimia suicide suicidal alzheimers parkinsons "
        "dementia hepatitis midwife medication dosage disorder",
    ),
    Topic(
        "sexuality",
        True,
        "sexual activity n 1, sexual desire n 1, pornography n 1, prostitute n 1, prostitution n 1, nakedness n 1, "
        "genitalia n 1, sex organ n 1, homosexual n 1, homosexuality n 1, lover n 3, nude n 2, nude n 3, striptease "
        "n 1, stripper n 3, erotic a 1, sexual a 1, sexy a 1, nude a 1, gay a 6, lesbian a 1, hardcore a 2, lewd a "
        "2, buttocks n 1, breast n 2, fetish n 1, undergarment n 1, brothel n 1, voyeur n 1, masturbate v 1, sexual "
        "love n 1, seduction n 2, bisexual n 1, sex symbol n 1, temptress n 1, orgasm n 1, virgin n 1, adultery n "
        "1, lust n 1, transvestite n 1, pervert n 1, bondage n 2, courtship n 1, nudist n 1",
        gloss_words="sex sexual sexually erotic nude naked homosexual obscene genital prostitute",
        everyday="porn porno xxx sex adult hardcore erotic erotica nude naked nudity gay lesbian bisexual "
        "transgender transsexual shemale fetish bdsm bondage swinger escort stripper playboy hentai milf "
        "anal blowjob cum cumshot cock dick penis vagina pussy tits boobs breast ass butt panties lingerie "
        "thong upskirt voyeur webcam girls teens babe chick amateur orgy masturbation dildo vibrator "
        "condom viagra slut whore dating singles personals girlfriend boyfriend affair sexy horny smut "
        "orgasm topless",
    ),
    Topic(
        "religion",
        True,
        "religion n 1, religion n 2, religious person n 1, clergyman n 1, spiritual leader n 1, prayer n 1, prayer "
        "n 2, religious ceremony n 1, place of worship n 1, sacred text n 1, religious movement n 1, church n 1, "
        "church n 3, theology n 1, monastery n 1, worship n 1, religious leader n 1, religious holiday n 1, "
        "theologian n 1, pray v 1, sin n 2",
        gloss_words="religion religious church god worship bible christian jewish islamic catholic",
        everyday="church bible jesus christ christian christianity catholic baptist mormon lds muslim islam koran "
        "mosque jewish judaism synagogue torah hindu hinduism buddhist buddhism wicca pagan atheist "
        "atheism scientology prayer gospel ministry pastor rabbi imam temple god worship",
    ),
    Topic(
        "politics",
        True,
        "politician n 1, politician n 2, political party n 1, political orientation n 1, political movement n 1, "
        "election n 1, vote n 1, legislature n 1, protest n 2, political system n 1, politics n 2, politics n 3, "
        "politics n 5, civil right n 1, revolution n 2, radical n 3, terrorist n 1, terrorism n 1, coup d'etat n 1, "
        "campaign n 1, political campaign n 1, vote v 1, socialist n 1, reactionary n 1, liberal n 1, anarchist n 1",
        gloss_words="political politics party communist election democracy government socialist vote",
        everyday="republican democrat election vote senator congress liberal conservative socialist communist "
        "protest activist union nra aclu liberation political politics campaign",
    ),
    Topic(
        "ethnicity",
        True,
        "ethnic group n 1, person of color n 1, race n 3, inhabitant n 1, racism n 1, racism n 2, racist n 1, "
        "immigrant n 1, immigration n 1, refugee n 1, slave n 1, minority n 1, native n 1, tribe n 1, ethnicity n "
        "1, ethnic minority n 1, emigration n 1, racial discrimination n 1",
        gloss_words="ethnic racial race tribe negro immigrant",
        everyday="black african hispanic latino latina asian ebony arab native tribe tribal immigrant immigration "
        "ethnic racist racism kkk nazi refugee minority",
    ),
    Topic(
        "crime",
        True,
        "crime n 1, criminal n 1, misdeed n 1, legal proceeding n 1, prison n 1, police n 1, policeman n 1, fraud n "
        "1, theft n 1, killing n 2, punishment n 1, lawsuit n 1, lawyer n 1, violence n 1, sexual abuse n 1, "
        "correctional institution n 1, prisoner n 1, gangster n 1, arrest n 1, wiretap n 1, imprisonment n 1, law n "
        "1, court n 1, steal v 1, kill v 1, rob v 1, accused n 1, spy n 1, jurisprudence n 1, detective n 1, bail n "
        "1, guilt n 1, abuse n 3, ill-treatment n 1",
        gloss_words="crime criminal illegal illegally prison guilty unlawful unlawfully court legal theft murder",
        everyday="police arrest warrant jail prison inmate court lawyer attorney lawsuit felony dui probation "
        "parole corrections murder rape stalking fraud scam stolen hacking piracy bomb crime gang mafia",
    ),
    Topic(
        "addiction",
        True,
        "addiction n 1, addict n 2, drug of abuse n 1, narcotic n 1, gambling n 1, alcoholic n 1, drunkenness n 1, "
        "drunkard n 1, drug user n 1, drinking n 2, smoking n 1, smoker n 1, tobacco n 1, cigarette n 1, lottery n "
        "2, casino n 1, gambler n 1, cannabis n 1, drug addiction n 1, drug abuse n 1, drug v 2, withdrawal n 9, "
        "intoxicate v 2, detoxification n 2, controlled substance n 1, casino-hotel n 1",
        gloss_words="addicted addiction narcotic gambling drunk intoxicated marijuana cocaine heroin",
        everyday="marijuana weed cannabis cocaine heroin meth lsd ecstasy alcoholic alcoholism rehab detox "
        "addiction gambling casino poker lottery betting smoking nicotine",
    ),
    Topic(
        "money trouble",
        True,
        "debt n 2, debt n 1, bankruptcy n 2, bankruptcy n 3, poverty n 1, financial condition n 1, insolvency n 1, "
        "unemployment n 1, welfare n 1, loan n 1, mortgage n 1, creditor n 1, debtor n 1, beggar n 1, poor person n "
        "1, credit card n 1, foreclosure n 1, financial loss n 1, dismissal n 4, tax n 1, salary n 1, homeless n 1, "
        "homeless n 2, eviction n 1, borrow v 1, owe v 1, alimony n 1, pension n 1, income n 1, bank account n 1, "
        "unemployed people n 1",
        gloss_words="debt bankrupt bankruptcy poor creditor loan impoverished unemployed wages",
        everyday="debt bankruptcy loan mortgage foreclosure payday welfare unemployment unemployed eviction "
        "repossession creditor",
    ),
    Topic(
        "family",
        True,
        "relative n 1, marriage n 1, marriage n 3, divorce n 1, family n 1, family n 2, family n 4, spouse n 1, "
        "adoption n 2, child n 2, parent n 1, wedding n 1, widow n 1, orphan n 1, genealogy n 1, genealogy n 2, "
        "kinship n 2, birth n 2, baby n 1, custody n 3, kin n 2, divorce v 2, marry v 1, parenthood n 1, childhood "
        "n 1, ancestor n 1, descendant n 1, foster family n 1, betrothed n 1, bachelor n 1, parturition n 1",
        gloss_words="marriage married divorce wife husband parent kinship ancestor unmarried",
        everyday="divorce custody adoption alimony genealogy ancestry marriage wife husband daughter son mother "
        "father parenting family pregnancy probate",
    ),
    Topic(
        "identity",
        True,
        "identification n 2, password n 1, identity n 1, identity card n 1, passport n 2, signature n 1, "
        "fingerprint n 1, secret n 1, privacy n 2, diary n 1, birth certificate n 1, phone number n 1, nationality "
        "n 2, citizenship n 1, visa n 1, driver's license n 1, surname n 1, first name n 1, curriculum vitae n 1, "
        "personal identity n 1, anonymity n 1, alias n 1, social security number n 1, identity theft n 1, impostor "
        "n 1, biometric identification n 1, personal identification number n 1",
        gloss_words="identity identification identifies confidential personal",
        everyday="ssn password passport identity certificate surname birthdate whitepages",
    ),
)

NEUTRAL = (
    Topic(
        "food",
        False,
        "food n 1, food n 2, beverage n 1, meal n 1, cookery n 1, kitchen appliance n 1, restaurant n 1",
        everyday="recipe recipes cooking restaurant pizza coffee wine beer vegetarian",
    ),
    Topic(
        "sport",
        False,
        "sport n 1, game n 1, athlete n 1, team n 1, sports equipment n 1, contest n 1, field game n 1, exercise n 1",
        everyday="sports football baseball basketball soccer hockey golf tennis nba nfl nhl mlb scores olympics "
        "skiing snowboard",
    ),
    Topic(
        "travel",
        False,
        "journey n 1, travel n 1, vehicle n 1, hotel n 1, tourist n 1, geological formation n 1, body of water n 1, "
        "road n 1, airline n 2, travel v 1, region n 3, city n 1, country n 2, state n 1, map n 1",
        everyday="hotel hotels airline airlines flights tickets travel vacation map maps cruise resort tours rental "
        "car cars auto",
    ),
    Topic(
        "technology",
        False,
        "computer n 1, software n 1, electronic equipment n 1, device n 1, engineering n 2, machine n 1, computer "
        "network n 1, memory n 4, data n 1, telecommunication n 1, communication system n 1, compute v 1, "
        "peripheral n 1, circuit n 1, camera n 1",
        everyday="computer software download downloads windows microsoft mac apple linux email internet web www "
        "http com net homepage website printer drivers mp3 freeware shareware screensaver wallpaper html "
        "java server modem browser games nintendo playstation",
    ),
    Topic(
        "shopping",
        False,
        "commodity n 1, clothing n 1, furniture n 1, tool n 1, container n 1, mercantile establishment n 1, toy n "
        "1, fabric n 1, jewelry n 1, cosmetic n 1, merchandise n 1, buy v 1, business n 1, footwear n 1",
        without="undergarment n 1",
        everyday="buy sale store stores shop price prices cheap catalog coupons ebay amazon walmart furniture toys "
        "clothing shoes",
    ),
    Topic(
        "animals",
        False,
        "animal n 1, animal group n 1",
        without="person n 1",
        everyday="dog dogs cat cats pets horse horses birds fish puppy kittens zoo",
    ),
    Topic(
        "plants",
        False,
        "plant n 2, plant part n 1, garden n 1, vascular plant n 1",
        everyday="garden gardening flowers trees lawn seeds",
    ),
    Topic(
        "entertainment",
        False,
        "entertainment n 1, music n 1, musical instrument n 1, movie n 1, book n 1, show n 3, art n 1, entertainer "
        "n 1, musician n 1, broadcasting n 1, picture n 1, literary composition n 1, fiction n 1, dance n 1, play n "
        "1, musical organization n 1, publication n 1, periodical n 1, writer n 1, artist n 1, hobby n 1, "
        "performing arts n 1",
        without="sacred text n 1, striptease n 1",
        everyday="music lyrics chords guitar tabs movie movies film tv television radio band song songs celebrity "
        "actor actress book books novel magazine newspaper news comics cartoons jokes art photos dvd video "
        "theatre dance",
    ),
    Topic(
        "weather",
        False,
        "weather n 1, atmospheric phenomenon n 1, season n 2, precipitation n 3, temperature n 1",
        everyday="weather forecast storm hurricane temperature snow",
    ),
    Topic(
        "science",
        False,
        "science n 1, mathematics n 1, chemical element n 1, unit of measurement n 1, celestial body n 1, rock n 1, "
        "mineral n 1, color n 1, shape n 2, time period n 1, chemical compound n 1, physical phenomenon n 1, number "
        "n 2, metal n 1, scientist n 1",
        without="drug n 1, medicine n 1, medicine n 2",
        everyday="science math physics chemistry biology engineering history statistics astronomy",
    ),
    Topic(
        "school and work",
        False,
        "school n 1, education n 1, educator n 1, student n 1, language n 1, building n 1, structure n 1, "
        "occupation n 1, skilled worker n 1, office n 1, course n 1, university n 1, university n 3, academic "
        "degree n 1, library n 1",
        without="place of worship n 1, correctional institution n 1, prostitution n 1",
        everyday="university college school library education teacher teaching courses jobs job resume career "
        "internship business company office training grammar dictionary",
    ),
)


@dataclass(frozen=True)
class LabelledSynset:
    """A synset and its topic, assigned by a root or only by the gloss."""

    synset: int
    topic: Topic
    by_root: bool


def find_root(name: str) -> int:
    """Return the synset that a root names."""
    lemma, part, number = name.strip().rsplit(" ", 2)
    return int(load_wordnet().synsets(lemma, PARTS[part])[int(number) - 1])


def label_synsets() -> list[LabelledSynset]:
    """Return every synset that has a topic, sorted; the first of several topics counts, sensitive ones come first."""
    network = load_wordnet()
    found: dict[int, LabelledSynset] = {}
    for topic in (*SENSITIVE, *NEUTRAL):
        excluded = _with_hyponyms(network, map(find_root, filter(None, topic.without.split(","))))
        for synset in sorted(_with_hyponyms(network, map(find_root, topic.roots.split(","))) - excluded):
            found.setdefault(synset, LabelledSynset(synset, topic, True))
    words = {topic: frozenset(topic.gloss_words.split()) for topic in SENSITIVE}
    texts = glosses().to_pylist()
    for synset in range(network.n_synsets):
        if network.parts[synset] != NOUN and synset not in found:
            used = frozenset(terms(definition(texts[synset])))
            topics = [topic for topic in SENSITIVE if not used.isdisjoint(words[topic])]
            if topics:
                found[synset] = LabelledSynset(synset, topics[0], False)
    return [found[synset] for synset in sorted(found)]


def definition(gloss: str) -> str:
    """Return a gloss without its examples, which are in quotation marks."""
    return re.sub(r'"[^"]*"?', " ", gloss)


def _with_hyponyms(network: WordNet, roots: Iterable[int]) -> set[int]:
    """Return synsets and all their direct and indirect hyponyms."""
    found = set(roots)
    frontier = list(found)
    while frontier:
        fresh = {int(child) for synset in frontier for child in network.hyponyms(synset)} - found
        found |= fresh
        frontier = list(fresh)
    return found
