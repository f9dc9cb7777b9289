"""Names of the logs of a training; `learning.logs` says what they hold."""

LOSSES, REWARDS, PROGRESS, PREFERENCES = "losses.log", "rewards.log", "progress.csv", "probs.json"
EVALUATIONS = "evaluations.csv"
FILES = (LOSSES, REWARDS, PROGRESS, PREFERENCES, EVALUATIONS)
