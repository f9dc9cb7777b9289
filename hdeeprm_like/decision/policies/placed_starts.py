"""What a baseline with a placement score does for a job; called by address, so that others need not have it."""

from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.placement_scores import best_score, choose_by_score
from hdeeprm_like.decision.policies.scores import F_PLACEMENT
from hdeeprm_like.engine.compiled import callback
from hdeeprm_like.engine.tables import Tables


@callback
def place_by_score(tables: Tables, knowledge: Knowledge, k: int, j: int) -> int:
    """Book the cores for a job by the placement score of baseline *k*; return NOTHING or what it lacks."""
    return choose_by_score(tables, knowledge.history, knowledge.placing, k, j)


@callback
def see_best_cores(tables: Tables, knowledge: Knowledge, k: int, j: int) -> None:
    """Write the score of the best cores for a waiting job to the features of the order."""
    knowledge.scores.features[F_PLACEMENT] = best_score(tables, knowledge.history, knowledge.placing, k, j)
