"""How a slot is born, what it runs, who calls it, who watches it, and how it ends."""
