"""What an expression can be asked for, by theme; `funke.table.expression` puts it together."""
