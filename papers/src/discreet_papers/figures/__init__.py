"""The papers' figures: each module has those of one subject."""
