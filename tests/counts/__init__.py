"""Tests of `discreet.counts`."""
