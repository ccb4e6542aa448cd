"""What a prediction is: distributions of rows, and what every regressor can be asked for."""
