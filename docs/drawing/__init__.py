"""The picture in docs/architecture.md, drawn from the code: `structure` reads it, `picture` draws it."""
