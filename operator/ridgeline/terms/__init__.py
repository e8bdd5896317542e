"""The words that the product, its resources and its messages share. Standard library only."""
