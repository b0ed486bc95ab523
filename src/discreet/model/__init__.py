"""The model: datasets and how they differ, Dirichlet posteriors, distances between them and their sensitivities."""
