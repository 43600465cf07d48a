"""Whether what is stored holds together, and whether the yard is well."""
