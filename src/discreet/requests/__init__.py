"""What was typed or sent, turned into values, and the steps from there that the command line and the page take alike."""
