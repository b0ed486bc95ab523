"""Tests of the page of `discreet explore`."""
