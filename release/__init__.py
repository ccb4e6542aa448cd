"""What has to be right before a version goes out."""
