/* A condition is no action. */
BEGIN { if (printf("a")) { exit(0); } }
