/*
 * id is 1 in BEGIN and 2 in END.
 * @flags: -q
 */
BEGIN { printf("%d\n", id); exit(0); }
END { printf("%d\n", id); }
