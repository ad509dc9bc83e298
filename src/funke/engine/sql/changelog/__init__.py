"""How results change: the kinds of changes that relations emit, by what key, and who needs the rows before a change."""
