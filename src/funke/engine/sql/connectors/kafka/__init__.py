"""The connectors kafka and upsert-kafka."""
