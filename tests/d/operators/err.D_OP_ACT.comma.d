/* An action cannot be an operand of the comma operator. */
BEGIN { x = 1, printf("a"); }
