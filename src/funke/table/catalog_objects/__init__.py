"""What a catalog holds, as programs see it; `funke.table.catalog` gives it out."""
