"""Train run-time predictors on the past of a trace, with scikit-learn's gradient boosting.

The target is ln(run time / requested time) of the jobs that have ended before the last part of the trace begins. The
past is replayed once as a whole and once in pieces of `PIECE` jobs, each with its own history, because a predictor must
also work for users with little history.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.decision.policy_words import ENDING, LEARNED
from hdeeprm_like.decision.tree_files import FEATURES, Node, Predictor, predictor_of
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import window
from hdeeprm_like.run.replay import replay
from hdeeprm_like.studies.prediction.report import Recording
from hdeeprm_like.types import Floats
from hdeeprm_like.values import FAR
from hdeeprm_like.version import __version__

PIECE = 1024  # jobs
LEAST = 50  # fewest training jobs
TREES, LEAVES, RATE, LEAST_OF_LEAF = 150, 31, 0.08, 40
CHECKED = 100  # jobs whose prediction by the file is compared with scikit-learn's own


def check_training(path: Path, quantile: float | None) -> None:
    """Refuse settings that cannot be trained or written, before any file is read.

    Raises:
        OptionsError: scikit-learn is missing, the quantile is invalid, or policies could not name the file.
    """
    if find_spec("sklearn") is None:
        raise OptionsError("--train: needs scikit-learn; install it with: pip install 'hdeeprm_like[learn]'")
    if quantile is not None and not 0.0 < quantile < 1.0:
        raise OptionsError(f"--quantile: a number between 0 and 1 is needed, not {quantile:g}")
    inside = any(mark in str(path) for mark in (",", f"{ENDING}+", f"{ENDING}-"))
    if not path.name.endswith(ENDING) or inside:
        raise OptionsError(f"--train: {path}: a name that ends in {ENDING} is needed, without commas")
    if path.is_dir():
        raise OptionsError(f"--train: {path}: is a folder; a file is needed")


def train(recording: Recording, path: Path, quantile: float | None = None) -> str:
    """Train a predictor on the past of a trace and write its file atomically; return its name.

    Args:
        quantile: predict the run time within which this share of similar jobs end; None predicts the mean of the
        logarithm.

    Raises:
        OptionsError: see `check_training`.
        WorkloadError: too few jobs have ended.
        ResultsError: the file cannot be written.
    """
    check_training(path, quantile)
    from sklearn import __version__ as version
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    features, target = rows_of(recording)
    loss: dict[str, Any] = {"loss": "squared_error"} if quantile is None else {"loss": "quantile", "quantile": quantile}
    model = HistGradientBoostingRegressor(
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        min_samples_leaf=LEAST_OF_LEAF,
        early_stopping=False,
        random_state=0,
        **loss,
    )
    with threadpool_limits(1):  # OpenMP's threads wait actively, which is slow beside other processes
        model.fit(features, target)
    made_by = {
        "command": "predict --train",
        "version": __version__,
        "scikit-learn": version,
        "trace": recording.trace.path.name,
        "cores": recording.machine.cores,
        "jobs": [0, recording.first],
        "rows": len(target),
        **loss,
    }
    content = content_of(model, made_by)
    check_trees(predictor_of(content, str(path)), model, features[:: max(len(features) // CHECKED, 1)])
    write_json(path, content, indent=None)
    return LEARNED + str(path)


def rows_of(recording: Recording) -> tuple[Floats, Floats]:
    """Return (N, F) features and (N,) ln(run time / requested time) of the past jobs that have ended.

    Raises:
        WorkloadError: there are too few.
    """
    found = []
    order = np.argsort(recording.trace.submit, kind="stable")
    pieces = range(0, recording.first, PIECE)
    for begin, end in ((0, recording.first), *((at, min(at + PIECE, recording.first)) for at in pieces)):
        piece = window(take(recording.trace, order[begin:end]), recording.machine.cores)
        jobs, submit = piece.workload, recording.window.workload.submit[begin]
        told = replay(recording.machine, jobs, recording.start[begin:end] - submit)
        ended = recording.finish[begin:end] <= recording.now
        target = np.log(np.maximum(jobs.delay, 1.0) / np.maximum(jobs.requested_time, 1.0))
        found.append((told.features[ended], target[ended]))
        if begin == 0 and ended.sum() < LEAST:
            raise WorkloadError(
                f"{recording.trace.path}: {ended.sum()} of the first {recording.first} jobs have ended when the next "
                f"one is submitted; {LEAST} are needed to learn from"
            )
    features, targets = (np.concatenate(parts) for parts in zip(*found, strict=True))
    features[:, np.isnan(features).all(axis=0)] = 0.0  # scikit-learn accepts no column without any known value
    return features, targets


def content_of(model: Any, made_by: dict[str, Any]) -> dict[str, Any]:
    """Return the trees of a model of scikit-learn as the content of a file; see `decision.tree_files`."""
    names = tuple(FEATURES)

    def node_of(node: Any) -> dict[str, Any]:
        if node["is_leaf"]:
            return {"value": float(node["value"])}
        return {
            "feature": names[node["feature_idx"]],
            "at_most": min(float(node["num_threshold"]), FAR),
            "left": int(node["left"]),
            "right": int(node["right"]),
            "missing": "left" if node["missing_go_to_left"] else "right",
        }

    return {
        "made_by": made_by,
        "baseline": float(np.ravel(model._baseline_prediction)[0]),
        "trees": [[node_of(node) for node in stage.nodes] for (stage,) in model._predictors],
    }


def check_trees(found: Predictor, model: Any, features: Floats) -> None:
    """Refuse trees that differ from scikit-learn's predictions; its storage of trees is private and may change.

    Raises:
        OptionsError: they differ.
    """
    told = [sum_in_python(found, row.tolist()) for row in features]
    if not np.allclose(told, model.predict(features), rtol=0.0, atol=1e-9):
        raise OptionsError("--train: the trees of this version of scikit-learn cannot be read; install another version")


def sum_in_python(found: Predictor, features: list[float]) -> float:
    """Return the result of `policies.trees.sum_of_trees`."""

    def leaf(tree: tuple[Node, ...]) -> float:
        node = tree[0]
        while node.feature >= 0:
            value = features[node.feature]
            left = node.missing_left if value != value else value <= node.at_most
            node = tree[node.left if left else node.right]
        return node.value

    return found.baseline + sum(leaf(tree) for tree in found.trees)
