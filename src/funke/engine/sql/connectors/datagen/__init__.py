"""Tables that make their rows up."""
