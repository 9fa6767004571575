/* The result of an expression cannot be assigned to. */
BEGIN { x = 1; x + 1 = 2; }
