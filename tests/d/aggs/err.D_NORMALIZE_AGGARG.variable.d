/* normalize takes no variable. */
BEGIN { x = 1; normalize(x, 2); }
