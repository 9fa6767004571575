/* A string is not multiplied. */
BEGIN { x = "a" * 2; }
