/* A constant zero leaves no remainder. */
BEGIN { x = 1; y = x % (3 - 3); }
