"""Rules that turn what a query means into what is computed: each one gives another tree of relations."""
