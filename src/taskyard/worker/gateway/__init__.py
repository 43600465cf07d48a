"""The gateway: an endpoint for each attempt of a command agent, through which its program calls models."""
