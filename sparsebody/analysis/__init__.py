"""From results to numbers: drift, energy, and what inspection finds."""
