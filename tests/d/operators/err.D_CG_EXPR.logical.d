/* An action has no value for &&. */
BEGIN { x = 1; x && printf("a"); }
