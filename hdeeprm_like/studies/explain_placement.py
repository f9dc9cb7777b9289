"""Explain a placement score in the words of an operator."""

from collections.abc import Iterator

from hdeeprm_like.decision.score_files import CORE_FEATURES, JOB_FEATURES, Placement, formula

WORDS = {  # which cores the smallest score prefers, by the sign of what the feature weighs
    "speed": ("slow cores", "fast cores"),
    "power": ("cores that draw little", "cores that draw much"),
    "bandwidth": ("processors with little bandwidth", "processors with much bandwidth"),
    "memory": ("nodes with little memory", "nodes with much memory"),
    "gpus": ("nodes without GPUs", "nodes with GPUs"),
    "asleep": ("processors in use", "idle processors"),
    "added_power": ("cores that add little power now", "cores that add much power now"),
    "contended": ("processors with bandwidth for it", "processors without bandwidth for it"),
    "slowed": ("processors where it slows no other job", "processors where it slows other jobs"),
    "bandwidth_left": ("processors whose bandwidth it uses up", "processors that keep much bandwidth"),
    "memory_left": ("nodes whose memory it uses up", "nodes that keep much memory"),
    "cores_left": ("processors that it fills", "processors that keep free cores"),
    "node_left": ("nodes that it fills", "nodes that keep free cores"),
    "elsewhere": ("processors that take all of it", "processors that take a part of it"),
    "lag": ("cores as fast as those taken before", "cores slower than those taken before"),
}
FOR = {  # for which jobs a term of a feature of jobs counts more, where the feature is larger
    "trusted_log_time": "longer than 1 h (shorter ones the other way round)",
    "log_cores": "of few cores",
    "memory_share": "that request much memory",
    "bandwidth_share": "that request much bandwidth",
    "on_gpus": "that request GPUs",
    "log_wait_hours": "that have waited long",
    "free": "that find many cores free",
    "queue": "that come while many wait",
}


def placement_explained(placement: Placement) -> Iterator[str]:
    """Yield which cores a job gets."""
    heaviest = sorted((term for term in placement.weights if term[2]), key=lambda term: -abs(term[2]))
    plain = [WORDS[cores][int(weight < 0.0)] for cores, job, weight in heaviest if job == "one"]
    if plain:
        yield f"  A job gets first {', then '.join(plain)}"
    for cores, job, weight in heaviest:
        if job != "one":
            larger = weight < 0.0 if job != "log_cores" else weight > 0.0  # the logarithm of a share is negative
            yield f"  Jobs {FOR[job]}: {WORDS[cores][int(larger)]}"
    yield f"  The cores with the smallest score are taken first: {formula(placement)}"
    yield "  where"
    for cores in dict.fromkeys(cores for cores, _, _ in heaviest):
        yield f"    {cores} = {CORE_FEATURES[cores]}"
    for job in dict.fromkeys(job for _, job, _ in heaviest if job != "one"):
        yield f"    {job} = {JOB_FEATURES[job]}"
