"""Releases: the guarantee, the public record, and the record's written form."""
