/* The result of an expression cannot be incremented. */
BEGIN { x = 1; (x + 1)++; }
