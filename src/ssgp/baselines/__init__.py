"""The methods that the paper compares with, on one linear bound."""
