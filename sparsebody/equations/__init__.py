"""What both schools of dynamics need and return: constraint forces, initial states, actuators."""
