"""Plan nodes of aggregates: by key, by window, and by functions of users."""
