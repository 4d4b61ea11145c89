"""Numbers about mechanisms and motions: inspection, energy, drift."""
