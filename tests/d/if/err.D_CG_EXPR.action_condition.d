/* An action cannot be a condition. */
BEGIN { if (printf("a")) { exit(0); } }
