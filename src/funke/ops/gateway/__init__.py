"""The SQL gateway: sessions of SQL statements for clients over REST, in a process that the service starts for them."""
