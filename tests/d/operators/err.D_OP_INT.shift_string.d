/* A string is not shifted. */
BEGIN { x = "a" << 2; }
