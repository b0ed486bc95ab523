"""The command line, one module for each command. `cli` puts them together."""
