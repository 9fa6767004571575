/* The value of an expression is not incremented. */
BEGIN { x = 1; (x + 1)++; }
