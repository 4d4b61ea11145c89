"""Method "loops-aba": trees with loops eliminated from the leaves inwards, on small fronts."""
