"""What is shown, by the command line and by the page alike: words, tables for a terminal, HTML, pictures, and the page of a report."""
