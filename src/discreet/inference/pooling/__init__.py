"""Groups whose shares come from one common law, and evidence for shares that all groups have alike."""
