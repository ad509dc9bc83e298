"""Functions of numbers, and exact decimal arithmetic."""
