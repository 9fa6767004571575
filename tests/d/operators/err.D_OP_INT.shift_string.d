/* A string cannot be shifted. */
BEGIN { x = "a" << 2; }
