"""Money and tokens: prices, what was spent, what may be."""
