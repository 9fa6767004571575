/* An action cannot be part of an expression. */
BEGIN { x = trace(1) + 1; }
