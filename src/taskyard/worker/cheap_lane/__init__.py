"""Model calls in batches of a provider: the providers, and the agent that sends and collects their batches."""
