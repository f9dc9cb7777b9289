"""How well run times are predicted: predictors asked about the jobs of a trace, and trained on its past."""
