"""Several releases read together: about the same records, or about new ones with the same probabilities."""
