"""`funke sql`: statements from the command line, from files, or typed at a prompt."""
