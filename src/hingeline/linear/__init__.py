"""Linear estimators by the modified finite Newton method."""
