/* An action cannot be an operand of &&. */
BEGIN { x = 1; x && printf("a"); }
