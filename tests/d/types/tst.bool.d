/*
 * A bool is always 0 or 1, even if a larger number is stored in it.
 * @flags: -q
 */
bool b;
_Bool c;
BEGIN { b = 256; c = 0; printf("%d %d %d\n", b, c, sizeof (b)); exit(0); }
