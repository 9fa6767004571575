/* The complement of a string is refused. */
BEGIN { x = ~"a"; }
