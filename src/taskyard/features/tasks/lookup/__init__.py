"""Reading tasks: found, explained, waited for; nothing here writes."""
