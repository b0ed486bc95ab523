"""The posterior law of true counts: what is observed of counts, how they split, and the engines that add up (docs/proofs/inference.md)."""
