"""Requests: values made of what was typed or sent, and the steps that the command line and the page take alike."""
