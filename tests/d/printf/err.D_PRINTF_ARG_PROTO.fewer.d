/* Each conversion has its argument. */
BEGIN { printf("%d %d\n", 1); }
