/*
 * The recorded bytes of keys are compared, padded with zeros. So 1 is the same key
 * in all integer types, but -1 is a different key for each width.
 * @flags: -q
 */
char c;
int i;
int64_t l;

BEGIN { c = i = l = 1; }
BEGIN { @a[c] = count(); }
BEGIN { @a[i] = count(); }
BEGIN { @a[l] = count(); }
BEGIN { c = i = l = -1; }
BEGIN { @b[c] = count(); }
BEGIN { @b[i] = count(); }
BEGIN { @b[l] = count(); exit(0); }
END { printa("%d %@d\n", @a); printa("%d %@d\n", @b); }
