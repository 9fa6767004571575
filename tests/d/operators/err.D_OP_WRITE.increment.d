/* A built-in variable is not incremented. */
BEGIN { pid++; }
