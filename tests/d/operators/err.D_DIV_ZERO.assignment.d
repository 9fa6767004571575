/* A constant zero does not divide in an assignment. */
BEGIN { x = 1; x /= 0; }
