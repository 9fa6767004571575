/* A built-in variable cannot be written. */
BEGIN { timestamp = 5; }
