/* The arms of a conditional must have compatible types. */
BEGIN { x = 1 ? "a" : 2; }
