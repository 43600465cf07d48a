"""Steps of an attempt: their numbers, and the calls of models that are under way."""
