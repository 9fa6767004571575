/* A string and a number are not added. */
BEGIN { x = 1; x += "a"; }
