"""What every package needs and none of them is about: files, names, checks, hooks between steps."""
