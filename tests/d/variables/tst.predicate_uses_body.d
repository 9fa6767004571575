/*
 * A predicate may use a variable that the body of its own clause creates.
 * @flags: -q
 */
BEGIN / !seen / { seen = 1; printf("first\n"); }
BEGIN / seen / { printf("second\n"); exit(0); }
