"""`funke sql`: statements from the command line, from files, or as somebody types them."""
