/* A string and a number cannot be added. */
BEGIN { x = 1; x += "a"; }
