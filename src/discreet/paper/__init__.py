"""The source documents, held against exact computation."""
