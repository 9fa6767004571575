/*
 * The elements of an array of char are signed.
 * @flags: -q
 */
char a[2];
unsigned char b[2];
BEGIN { a[1] = -1; b[1] = -1; printf("%d %d\n", a[1], b[1]); exit(0); }
