"""Jobs in epochs: a Spark job for each, whose tasks deliver blocks to slots through Spark's shuffle."""
