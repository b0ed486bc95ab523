"""Many trees of counts of one shape at once, as arrays: groups on the first axis, the cells of a group on the second."""
