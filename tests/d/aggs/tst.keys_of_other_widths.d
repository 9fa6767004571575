/*
 * Keys are compared as their recorded bytes, padded with zeros. So the key 1 is
 * the same in all integer types, but the key -1 is different for each width.
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
