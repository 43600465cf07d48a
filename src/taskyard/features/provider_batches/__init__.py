"""Model calls that are gathered into batches of a provider: cheaper, and later."""
