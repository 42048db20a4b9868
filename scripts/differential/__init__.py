"""Random cases of one node each, by operator: what scripts/differential.py runs in three programs."""
