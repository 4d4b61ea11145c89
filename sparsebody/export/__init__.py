"""Results and mechanisms written for other programs."""
