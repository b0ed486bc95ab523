"""`discreet explore`: a page on this machine, on which a steward plans and a reader reads. It computes nothing of its own."""
