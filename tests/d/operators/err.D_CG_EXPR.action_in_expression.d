/* An action is not part of an expression. */
BEGIN { x = trace(1) + 1; }
