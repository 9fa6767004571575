/*
 * -x libdir has the same effect as -L, and a program may declare that it needs a library.
 * @flags: -q -x libdir=good
 */
#pragma D depends_on library shapes.d
BEGIN { printf("%d\n", SIDES); exit(0); }
