"""From results to numbers: what inspection, orderings, reactions and loops tell."""
