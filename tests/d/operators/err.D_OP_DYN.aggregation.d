/* The value of an aggregation cannot be read. */
BEGIN { @a = count(); x = @a + 1; }
