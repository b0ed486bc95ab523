"""From tables and files to private counts."""
