/* A built-in variable is not written. */
BEGIN { timestamp = 5; }
