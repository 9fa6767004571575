/*
 * Macro arguments may be used in predicates, sizes and keys.
 * @args: 5 word
 * @flags: -q
 */
int a[$1];
BEGIN / $1 > 4 && $$2 == "word" / { m[$$2, $1] = sizeof (a); printf("%d\n", m["word", 5]); exit(0); }
