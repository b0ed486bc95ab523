"""What a release says: its guarantee, the public record, and the record's written form."""
