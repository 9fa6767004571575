/* Division by a constant zero is refused. */
BEGIN { x = 1; y = x / 0; }
