/* A string cannot be multiplied. */
BEGIN { x = "a" * 2; }
