/* A built-in variable cannot be incremented. */
BEGIN { pid++; }
