"""The connector datagen: tables of generated rows."""
