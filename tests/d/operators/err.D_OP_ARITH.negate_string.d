/* A string has no negative. */
BEGIN { x = -"a"; }
