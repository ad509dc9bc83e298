"""The graphs a job passes through on its way to Spark: frozen data, one text form each."""
