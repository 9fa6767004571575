/* A string cannot be negated. */
BEGIN { x = -"a"; }
