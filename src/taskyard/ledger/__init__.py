"""What stands between the features and the store: loading, deciding and committing, ids, the clock, signatures."""
