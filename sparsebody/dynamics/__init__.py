"""Forward dynamics, initial assembly, mobility and energy."""
