"""Measure the prediction of run times: apply predictors to the jobs of a trace, and train them on its past."""
