/* The value of an expression takes no value. */
BEGIN { x = 1; x + 1 = 2; }
