"""Planning before anything is drawn: widths of intervals, every mechanism side by side, and plans."""
