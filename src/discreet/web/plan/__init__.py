"""The screen for plans: what is asked, and what is answered."""
