/* The left side of an assignment cannot be a sum. */
BEGIN { x = 1; x + 1 = 2; }
