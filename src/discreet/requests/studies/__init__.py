"""Studies: several tables of one dataset for one ε, from their file to the folder of their records."""
