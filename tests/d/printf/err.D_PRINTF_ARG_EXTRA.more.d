/* Each argument has its conversion. */
BEGIN { printf("%d\n", 1, 2); }
