"""The evaluation of Liu and Wang 2010: the running example, Table I, and SSC against LG and suppression over k.

The paper prints no results of its experiments; they are in a technical report that is not public. So the runs it names
are made on another log: bLM, Recall and sDist for k = 2, 5, 10, 20 and ε = 4, 6, 8. LM is shown next to bLM to
demonstrate that it understates the loss. Where we read the paper differently, and why:
docs/explanation/papers/liu-wang.md.
"""

from dataclasses import asdict

from queryveil.core.errors import InputError
from queryveil.experiments.liu import examples, result_tables
from queryveil.experiments.liu.grid import KS, VocabularySetup, methods, publish, run_grid
from queryveil.experiments.paper import Paper, PaperEvaluation, PaperInputs, PaperOptions
from queryveil.semantics.network import wordnet

CITATION = "Liu, Wang: Enforcing Vocabulary k-Anonymity by Semantic Similarity Based Clustering, 2010"
PATTERNS = 1_000  # most frequent patterns that are compared


def evaluate(inputs: PaperInputs) -> PaperEvaluation:
    """Compute the paper's example, Table I and its comparison on a log; every run is verified before it is reported."""
    profiles, rng, progress, largest = inputs.profiles, inputs.rng, inputs.progress, max(KS)
    if profiles.n_people < largest:
        raise InputError(
            f"the log has {profiles.n_people:,} people, but the paper's k goes up to {largest}; give a log of at least "
            f"{largest}."
        )
    setup = VocabularySetup(profiles, wordnet(), PATTERNS, rng)
    example = examples.example(rng)
    for name in methods(examples.EXAMPLE_K).values():
        publish(example, name)  # so that kernels are compiled before times are taken
    first = (examples.figures_1_and_2(example), examples.figure_3(example), examples.table_1(setup, progress))
    runs = run_grid(setup, progress)
    cells = result_tables.by_cell(runs)
    tables = (*first, *result_tables.tables(cells))
    numbers = {
        "runs": [asdict(run) for run in runs],
        "patterns": PATTERNS,
        "tables": [asdict(table) for table in tables],
    }
    return PaperEvaluation(tables, tuple(result_tables.figures(cells)), numbers)


PAPER = Paper(CITATION, "demo", evaluate, PaperOptions.refuse_generator_options)
