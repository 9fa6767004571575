/* A string has no complement. */
BEGIN { x = ~"a"; }
