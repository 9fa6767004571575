/*
 * A predicate may use a variable that its own body creates.
 * @flags: -q
 */
BEGIN / !seen / { seen = 1; printf("first\n"); }
BEGIN / seen / { printf("second\n"); exit(0); }
