"""What the site is made of, besides the pages in docs/ and the examples."""
