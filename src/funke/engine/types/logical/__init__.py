"""Data types of tables: Flink's logical types, their texts, their Arrow types, and the rules by which types combine."""
