/*
 * A bool is 0 or 1, whatever is stored.
 * @flags: -q
 */
bool b;
_Bool c;
BEGIN { b = 256; c = 0; printf("%d %d %d\n", b, c, sizeof (b)); exit(0); }
