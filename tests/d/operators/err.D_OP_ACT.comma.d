/* An action is not joined to others by commas. */
BEGIN { x = 1, printf("a"); }
