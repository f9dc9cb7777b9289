"""The trees of learned run-time predictors in compiled code (see `decision.tree_files`)."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hdeeprm_like.decision.tree_files import FEATURES, Node, Predictor
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.types import Floats, Ints, Records

LEAF = Node().feature  # instead of a feature, in leaves

MODEL = np.dtype(
    [
        ("baseline", "f8"),
        ("first", "i8"),  # first of its trees, roots[first : end]
        ("end", "i8"),
        ("own", "i8"),  # 1 for a user's own predictor, whose predictions Python writes
    ],
    align=True,
)

NODE = np.dtype(  # the fields of `tree_files.Node`; numbers of nodes are those among all trees
    [(name, "f8" if isinstance(usual, float) else "i8") for name, usual in Node._field_defaults.items()], align=True
)


class Trees(Bundle, shared=("models", "roots", "nodes")):
    """The learned predictors of an action space; M predictors, F features, J jobs.

    Attributes:
        models: (M,) MODEL. roots: the first node of each tree. nodes: NODE of all trees.
        features: (F,) scratch: of the job to predict, nan if unknown.
        seen: (M, J) the user's ended jobs at a job's last prediction. made: (M, J) s, time of that prediction.
    """

    models: Records
    roots: Ints
    nodes: Records
    features: Floats
    seen: Ints
    made: Floats


def new_trees(predictors: Sequence[Predictor], jobs: int) -> Trees:
    """Return the trees of some predictors."""
    shape = len(predictors), jobs
    return Trees(*rows_of(tuple(predictors)), np.zeros(len(FEATURES)), np.zeros(shape, np.int64), np.zeros(shape))


@lru_cache(maxsize=8)
def rows_of(predictors: tuple[Predictor, ...]) -> tuple[Records, Ints, Records]:
    """Return the models, roots and nodes of some predictors; they are never written to."""
    models = np.zeros(len(predictors), MODEL)
    roots: list[int] = []
    rows: list[Node] = []
    for model, predictor in zip(models, predictors, strict=True):
        model["baseline"], model["first"] = predictor.baseline, len(roots)
        for tree in predictor.trees:
            root = len(rows)
            roots.append(root)
            rows += [one._replace(left=root + one.left, right=root + one.right) for one in tree]
        model["end"], model["own"] = len(roots), predictor.own is not None
    return models, np.array(roots, np.int64), np.array(rows, NODE)


@compiled
def sum_of_trees(trees: Trees, m: int) -> float:
    """Return the sum of the leaf values of predictor *m* for the written features."""
    total = trees.models[m].baseline
    for t in range(trees.models[m].first, trees.models[m].end):
        n = trees.roots[t]
        while trees.nodes[n].feature != LEAF:
            node = trees.nodes[n]
            feature = trees.features[node.feature]
            goes_left = node.missing_left == 1 if np.isnan(feature) else feature <= node.at_most
            n = node.left if goes_left else node.right
        total += trees.nodes[n].value
    return float(total)
