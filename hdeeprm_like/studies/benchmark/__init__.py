"""A benchmark of fixed cases, which a policy is put through to get a card that others can compare theirs with."""
