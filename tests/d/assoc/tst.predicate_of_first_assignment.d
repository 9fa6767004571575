/*
 * A predicate may read an associative array that its own clause assigns for the first time.
 * @flags: -q
 */
BEGIN /a[1] == 0/ { a[1] = 2; }
BEGIN /a[1] == 2/ { printf("%d\n", a[1]); exit(0); }
