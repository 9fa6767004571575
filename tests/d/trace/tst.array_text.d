/*
 * An array of characters that is text prints as text.
 * @flags: -q
 */
char a[8];

BEGIN { a[0] = 't'; a[1] = 'x'; trace(a); trace("|"); exit(0); }
