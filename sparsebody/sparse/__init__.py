"""Block matrices and their patterns; knows no mechanics."""
