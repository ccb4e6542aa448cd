"""Tools of every package: files written whole, messages, checks, progress, budgets. Private."""
