"""How tasks come to be: arrivals, drafts, growing DAGs, children, reruns."""
