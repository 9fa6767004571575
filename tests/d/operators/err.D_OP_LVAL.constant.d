/* The left side of an assignment cannot be a constant. */
BEGIN { 5 = 6; }
