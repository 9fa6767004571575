/*
 * With rawbytes, trace prints even text as a hexadecimal dump.
 * @flags: -q -x rawbytes
 */
char a[8];

BEGIN { a[0] = 't'; a[1] = 'x'; trace(a); exit(0); }
