/* The value of an aggregation is not read. */
BEGIN { @a = count(); x = @a + 1; }
