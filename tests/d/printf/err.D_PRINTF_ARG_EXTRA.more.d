/* Each argument needs a conversion. */
BEGIN { printf("%d\n", 1, 2); }
