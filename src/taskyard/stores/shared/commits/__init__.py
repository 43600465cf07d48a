"""What stores need to commit change sets: consistency checks, independent batches, conflicts and lifted blockers."""
