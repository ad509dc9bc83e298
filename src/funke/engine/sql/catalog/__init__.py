"""What tables, views and functions there are, and which one a name means."""
