/*
 * trace prints an array of characters as text if it contains text.
 * @flags: -q
 */
char a[8];

BEGIN { a[0] = 't'; a[1] = 'x'; trace(a); trace("|"); exit(0); }
