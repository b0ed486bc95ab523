"""Tests: each one reads like the claim it checks, and names its oracle."""
